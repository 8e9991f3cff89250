package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// environment is what points a program at a sandbox.
type environment struct{ BaseURL, APIKey, SandboxURL string }

// The names of the variables of an environment, in order.
var variableNames = []string{"MESSAGING_BASE_URL", "MESSAGING_API_KEY", profile.InspectorVariable}

func (env environment) values() []string { return []string{env.BaseURL, env.APIKey, env.SandboxURL} }

// shell writes an environment in the language of a shell.
type shell struct {
	name string
	set  func(name, value string) string
	// unset removes the variables and fails, so that what follows is not run with those of
	// an earlier environment.
	unset string
}

var shells = []shell{
	{"posix", func(name, value string) string { return "export " + name + "=" + quotePOSIX(value) },
		"unset " + strings.Join(variableNames, " ") + "; false"},
	{"fish", func(name, value string) string { return "set -gx " + name + " " + quoteFish(value) + ";" },
		"set -e " + strings.Join(variableNames, "; set -e ") + "; false"},
	{"powershell", func(name, value string) string {
		return "$env:" + name + " = '" + strings.ReplaceAll(value, "'", "''") + "';"
	},
		"$env:" + strings.Join(variableNames, " = $null; $env:") + " = $null; throw 'there is no sandbox'"},
	{"dotenv", func(name, value string) string { return name + "=" + value }, ""},
}

func quotePOSIX(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func quoteFish(s string) string {
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, `\`, `\\`), "'", `\'`) + "'"
}

func newEnv() *cobra.Command {
	var names []string
	for _, s := range shells {
		names = append(names, s.name)
	}
	var name string
	var wanted wantedSandbox
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the environment variables that point programs at the sandbox",
		Long: `Print the environment variables that point programs at the sandbox, for eval. Which
sandbox that is goes to stderr. If there is none, the output removes the variables and
fails: otherwise, a program would use those of an earlier environment.`,
		Example: `  eval "$(messaging sandbox env)" && go run ./cmd/shop
  messaging sandbox & eval "$(messaging sandbox env --wait 10s --pid $!)" && go test ./...
  messaging sandbox env --shell fish | source
  messaging sandbox env --shell powershell | Out-String | Invoke-Expression
  messaging sandbox env --shell dotenv >.env
  messaging sandbox env --ui http://127.0.0.1:9000`,
		Args: cobra.NoArgs,
	}
	remote := addUI(cmd)
	cmd.Flags().StringVar(&name, "shell", "posix", "`language` of the output: "+strings.Join(names, ", "))
	cmd.Flags().DurationVar(&wanted.patience, "wait", 0,
		"wait up to this `duration` for a sandbox that is starting, and refuse one that has run for longer")
	cmd.Flags().IntVar(&wanted.pid, "pid", 0, "refuse a sandbox of another `process`")
	_ = cmd.RegisterFlagCompletionFunc("shell", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		i := slices.IndexFunc(shells, func(s shell) bool { return s.name == name })
		if i < 0 {
			return exit.With(exit.Usage, "--shell: %q must be one of %s", name, strings.Join(names, ", "))
		}
		env, err := findSandbox(cmd, remote, wanted)
		if err != nil {
			if shells[i].unset != "" {
				_, _ = fmt.Fprintln(cmd.OutOrStdout(), shells[i].unset) // a closed pipe is not an error here
			}
			return err
		}
		writeEnv(cmd, shells[i], env)
		return nil
	}
	return cmd
}

// writeEnv writes a line for each variable.
func writeEnv(cmd *cobra.Command, s shell, env environment) {
	for i, value := range env.values() {
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), s.set(variableNames[i], value)) // a closed pipe is not an error here
	}
}
