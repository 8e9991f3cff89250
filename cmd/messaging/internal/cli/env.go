package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/remote"
)

// variableNames are those of the variables that point a program at a sandbox.
var variableNames = []string{"MESSAGING_BASE_URL", "MESSAGING_API_KEY", remote.URLVariable}

// shell is how a shell sets the variables. Its unset removes them and fails, so that what follows is not run with those
// of an earlier sandbox.
type shell struct{ set, quote, unset string }

var shells = map[string]shell{
	"posix": {"export %s='%s'\n", `'\''`, "unset " + strings.Join(variableNames, " ") + "; false"},
	"powershell": {"$env:%s = '%s';\n", "''",
		"$env:" + strings.Join(variableNames, " = $null; $env:") + " = $null; throw 'there is no sandbox'"},
}

func newEnv() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the environment variables that point programs at the sandbox",
		Long: `Print the environment variables that point programs at the sandbox, for eval. Which
sandbox that is goes to stderr. If there is none, the output removes the variables and
fails: otherwise, a program would use those of an earlier environment.`,
		Example: `  eval "$(messaging sandbox env)" && go run ./cmd/shop
  messaging sandbox env --shell powershell | Out-String | Invoke-Expression
  messaging sandbox env --ui http://127.0.0.1:9000`,
		Args: cobra.NoArgs,
	}
	flags := addUI(cmd)
	cmd.Flags().StringVar(&name, "shell", "posix", "`language` of the output: posix or powershell")
	_ = cmd.RegisterFlagCompletionFunc("shell", // the flag exists
		cobra.FixedCompletions([]string{"posix", "powershell"}, cobra.ShellCompDirectiveNoFileComp))
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		form, ok := shells[name]
		if !ok {
			return exit.With(exit.Usage, "--shell: %q must be posix or powershell", name)
		}
		values, err := askForVariables(cmd, flags)
		if err != nil {
			if _, unwritten := fmt.Fprintln(cmd.OutOrStdout(), form.unset); unwritten != nil {
				return unwritten
			}
			return err
		}
		return form.write(cmd, values)
	}
	return cmd
}

// askForVariables returns the values of the variables for a running sandbox, and writes which one it is to stderr.
func askForVariables(cmd *cobra.Command, flags *remoteFlags) ([]string, error) {
	box, err := flags.sandbox()
	if err != nil {
		return nil, err
	}
	found, err := box.Access(cmd.Context())
	if err != nil {
		return nil, err
	}
	cmd.PrintErrf("sandbox %s: process %d, started %s\n", box.URL, found.PID, found.Started.Local().Format("2006-01-02 15:04:05 MST"))
	return []string{box.Service(found), found.Key, box.URL}, nil
}

// write writes a line for each variable.
func (s shell) write(cmd *cobra.Command, values []string) error {
	var lines strings.Builder
	for i, value := range values {
		fmt.Fprintf(&lines, s.set, variableNames[i], strings.ReplaceAll(value, "'", s.quote))
	}
	_, err := cmd.OutOrStdout().Write([]byte(lines.String()))
	return err
}
