package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// newTopics returns the texts of messaging help TOPIC.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodes()},
		{Use: "environment", Short: "The configuration file and the environment variables", Long: environmentText},
	}
}

func exitCodes() string {
	var b strings.Builder
	b.WriteString("The exit codes never change their meaning.\n\n")
	for _, m := range exit.Meanings {
		fmt.Fprintf(&b, "  %3d  %s\n", m.Code, m.Text)
	}
	b.WriteString(`
If several codes apply, the command exits with the first one in this order: 9, 7, 4, 3, 5, 6, 8, 1.
Reading changes nothing, so a read that failed never exits with 9.`)
	return b.String()
}

const environmentText = `There are three ways to choose the service that a command calls:

  --profile sandbox   a sandbox that runs on this machine
  --profile NAME      a profile of the configuration file
  without --profile   MESSAGING_BASE_URL and MESSAGING_API_KEY, both of them

There is no default profile, and a key from one source is never combined with a URL from
another.

The configuration file is config.toml in $XDG_CONFIG_HOME/messaging, or in
~/.config/messaging; on Windows, in %AppData%\messaging. Only you may write to it.

  [profiles.production]
  base_url = "https://api.example.com"
  kind = "production"             # production (default), staging or sandbox
  key_command = ["op", "read", "op://ops/messaging/key"]
  max_recipients = 500            # the default is 100
  rate = "50/s"

  [profiles.staging]
  base_url = "https://staging.example.com"
  kind = "staging"
  key_file = "staging.key"        # beside config.toml
  allow = ["@acme.test", "id:qa-7"]

  MESSAGING_SANDBOX_URL       inspector of the sandbox (default http://127.0.0.1:8078)
  MESSAGING_SANDBOX_TOKEN     token of a sandbox that listens on other addresses
  MESSAGING_OUTBOX_DATABASE   Postgres database of the outbox, for commands without --ledger
  XDG_STATE_HOME              folder of messaging/sends.jsonl (default ~/.local/state)
  NO_COLOR, CLICOLOR_FORCE, TERM=dumb, COLUMNS   change what a terminal shows`
