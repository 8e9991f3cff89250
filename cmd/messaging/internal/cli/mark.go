package cli

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func newMark() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mark",
		Short: "Let wait look only at later requests, and print the number of the last one",
		Example: `  messaging sandbox mark
  go test ./... && messaging sandbox wait op:trigger`,
		Args: cobra.NoArgs,
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := remote.call(cmd.Context(), http.MethodPost, "/api/mark", nil)
		if err != nil {
			return err
		}
		var marked struct{ Number int }
		if err := json.Unmarshal(body, &marked); err != nil {
			return exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
		}
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), marked.Number) // a closed pipe is not an error here
		return nil
	}
	return cmd
}
