package cli

import (
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func newDump() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print customers, events and messages, in the form of a seed",
		Example: `  messaging sandbox dump >seed.json
  messaging sandbox --seed seed.json`,
		Args: cobra.NoArgs,
	}
	sandbox := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := sandbox.call(cmd.Context(), http.MethodGet, "/api/dump", nil)
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "%s", body) // a closed pipe is not an error here
		return nil
	}
	return cmd
}
