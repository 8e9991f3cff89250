package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

func newMark() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mark [NAME]",
		Short: "Make wait ignore earlier requests, and print the number of the last one",
		Long: `Wait looks only at the requests after the last mark. The list of requests shows where
each mark was set, and its name, and "mark:NAME" finds the requests after it, until the
next mark.`,
		Example: `  messaging sandbox mark
  messaging sandbox mark checkout && go test ./... && messaging sandbox wait op:trigger`,
		Args: cobra.MaximumNArgs(1),
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := map[string]string{"name": strings.Join(args, "")}
		body, err := remote.call(cmd.Context(), http.MethodPost, "/api/mark", name)
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
