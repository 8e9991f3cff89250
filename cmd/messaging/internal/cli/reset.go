package cli

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func newReset() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset [all|history|faults]",
		Short: "Reset the sandbox: restore the seed, clear the history and the faults",
		Example: `  messaging sandbox reset
  messaging sandbox reset faults`,
		Args: cobra.MaximumNArgs(1),
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what := "all"
		if len(args) > 0 {
			what = args[0]
		}
		_, err := remote.call(cmd.Context(), http.MethodPost, "/api/reset?what="+url.QueryEscape(what), nil)
		return err
	}
	return cmd
}
