package cli

import (
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

// cleared says what each kind of reset did.
var cleared = map[string]string{"all": "the records are those of the seed, and the history and the faults are empty",
	"history": "the history is empty", "faults": "there are no faults"}

func newReset(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reset [all|history|faults]",
		Short: "Reset the sandbox: restore the seed, clear the history and the faults",
		Example: `  messaging sandbox reset
  messaging sandbox reset faults`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"all", "history", "faults"},
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what := "all"
		if len(args) > 0 {
			what = args[0]
		}
		_, err := remote.call(cmd.Context(), http.MethodPost, "/api/reset?what="+url.QueryEscape(what), nil)
		if err == nil {
			s.printer.Note("reset: %s", cleared[what])
		}
		return err
	}
	return cmd
}
