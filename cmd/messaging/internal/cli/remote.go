package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/remote"
)

// remoteFlags name a running sandbox.
type remoteFlags struct{ url, tokenFile string }

// addUI adds the flags that name a running sandbox.
func addUI(cmd *cobra.Command) *remoteFlags {
	flags := new(remoteFlags)
	cmd.Flags().StringVar(&flags.url, "ui", "", "`URL` of the inspector; default $"+remote.URLVariable+", else "+remote.DefaultURL)
	cmd.Flags().StringVar(&flags.tokenFile, "token-file", "", "`file` with the token of the sandbox; default: that of $"+remote.TokenVariable)
	return flags
}

func (flags *remoteFlags) sandbox() (*remote.Sandbox, error) {
	token, err := readToken(flags.tokenFile)
	if err != nil {
		return nil, err
	}
	return remote.New(cmp.Or(flags.url, os.Getenv(remote.URLVariable)), token)
}

// call calls the JSON API of the sandbox.
func (flags *remoteFlags) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	box, err := flags.sandbox()
	if err != nil {
		return nil, err
	}
	return box.Call(ctx, method, path, body)
}

// printNumber prints a member of a response, which is a number.
func printNumber(cmd *cobra.Command, response []byte, member string) error {
	var numbers map[string]int
	if err := json.Unmarshal(response, &numbers); err != nil {
		return exit.With(exit.Unexpected, "cannot read the response of the sandbox: %w", err)
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), numbers[member])
	return err
}

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
	flags := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := flags.call(cmd.Context(), http.MethodPost, "/api/mark", map[string]string{"name": strings.Join(args, "")})
		if err != nil {
			return err
		}
		return printNumber(cmd, body, "number")
	}
	return cmd
}

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
	flags := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what := cmp.Or(strings.Join(args, ""), "all")
		_, err := flags.call(cmd.Context(), http.MethodPost, "/api/reset?what="+url.QueryEscape(what), nil)
		if err == nil {
			s.printer.Note("reset: %s", cleared[what])
		}
		return err
	}
	return cmd
}

func newDump() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "dump",
		Short: "Print " + records.Names("and") + " as a seed",
		Example: `  messaging sandbox dump >seed.json
  messaging sandbox --seed seed.json`,
		Args: cobra.NoArgs,
	}
	flags := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := flags.call(cmd.Context(), http.MethodGet, "/api/dump", nil)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(body)
		return err
	}
	return cmd
}
