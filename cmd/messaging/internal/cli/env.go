package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

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
	var patience time.Duration
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the environment variables that point programs at the sandbox",
		Long: `Print the environment variables that point programs at the sandbox, for eval. Which
sandbox that is goes to stderr. If there is none, the output removes the variables and
fails: otherwise, a program would use those of an earlier environment.`,
		Example: `  eval "$(messaging sandbox env)" && go run ./cmd/shop
  eval "$(messaging sandbox env --wait 10s)" && go test ./...
  messaging sandbox env --shell fish | source
  messaging sandbox env --shell powershell | Out-String | Invoke-Expression
  messaging sandbox env --shell dotenv >.env
  messaging sandbox env --ui http://127.0.0.1:9000`,
		Args: cobra.NoArgs,
	}
	remote := addUI(cmd)
	cmd.Flags().StringVar(&name, "shell", "posix", "`language` of the output: "+strings.Join(names, ", "))
	cmd.Flags().DurationVar(&patience, "wait", 0, "wait up to this `duration` for a sandbox that is starting")
	_ = cmd.RegisterFlagCompletionFunc("shell", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp)) // the flag exists
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		i := slices.IndexFunc(shells, func(s shell) bool { return s.name == name })
		if i < 0 {
			return exit.With(exit.Usage, "--shell: %q must be one of %s", name, strings.Join(names, ", "))
		}
		env, err := findSandbox(cmd, remote, patience)
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

// access asks the sandbox for its address and key, until there is one or patience ends.
func access(ctx context.Context, remote *remote, patience time.Duration) ([]byte, error) {
	waiting, end := context.WithTimeout(ctx, patience)
	defer end()
	for {
		body, err := remote.call(ctx, http.MethodGet, "/api/access", nil)
		if err == nil || exit.CodeOf(err) != exit.NotDone {
			return body, err
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-waiting.Done():
			return nil, err
		}
	}
}

// findSandbox returns the environment of the running sandbox, and writes which one it is
// to stderr.
func findSandbox(cmd *cobra.Command, remote *remote, patience time.Duration) (environment, error) {
	body, err := access(cmd.Context(), remote, patience)
	if err != nil {
		return environment{}, err
	}
	var found struct {
		Key     string `json:"api_key"`
		Port    string `json:"port"`
		PID     int    `json:"pid"`
		Started string `json:"started"`
		Seed    string `json:"seed"`
	}
	base, err := remote.base()
	if err != nil {
		return environment{}, err
	}
	ui, err := url.Parse(base)
	if err = errors.Join(err, json.Unmarshal(body, &found)); err != nil || found.Port == "" {
		return environment{}, exit.With(exit.NotDone, "the URL of --ui is not that of a sandbox")
	}
	seed := "no seed"
	if found.Seed != "" {
		seed = "seed " + found.Seed
	}
	cmd.PrintErrf("sandbox %s: process %d, started %s, %s\n", base, found.PID, found.Started, seed)
	return environment{"http://" + net.JoinHostPort(ui.Hostname(), found.Port), found.Key, base}, nil
}

// writeEnv writes a line for each variable.
func writeEnv(cmd *cobra.Command, s shell, env environment) {
	for i, value := range env.values() {
		_, _ = fmt.Fprintln(cmd.OutOrStdout(), s.set(variableNames[i], value)) // a closed pipe is not an error here
	}
}
