package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"
)

// environment is what points a program at a sandbox.
type environment struct {
	BaseURL    string `json:"base_url"`
	APIKey     string `json:"api_key"`
	SandboxURL string `json:"sandbox_url"`
}

func newEnv() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "env",
		Short: "Print the environment variables that point programs at the sandbox",
		Example: `  eval "$(messaging sandbox env)"
  messaging sandbox env --ui http://127.0.0.1:9000`,
		Args: cobra.NoArgs,
	}
	remote := addUI(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		body, err := remote.call(cmd.Context(), http.MethodGet, "/healthz", nil)
		if err != nil {
			return err
		}
		var env environment
		if json.Unmarshal(body, &env) != nil || env.BaseURL == "" {
			return exitWith(exitNotDone, "the URL of --ui is not that of a sandbox")
		}
		writeEnv(cmd, env)
		return nil
	}
	return cmd
}

// writeEnv writes lines for eval.
func writeEnv(cmd *cobra.Command, env environment) {
	for _, variable := range [][2]string{{"MESSAGING_BASE_URL", env.BaseURL}, {"MESSAGING_API_KEY", env.APIKey},
		{"MESSAGING_SANDBOX_URL", env.SandboxURL}} {
		quoted := "'" + strings.ReplaceAll(variable[1], "'", `'\''`) + "'"
		_, _ = fmt.Fprintf(cmd.OutOrStdout(), "export %s=%s\n", variable[0], quoted) // a closed pipe is not an error here
	}
}
