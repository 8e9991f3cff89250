// Package cli holds the commands of the program.
package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/export"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// Main runs the program and returns its exit code.
func Main() int {
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // as nohup does
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), ends...)
	defer stop()
	go endAtQuit(os.Stderr)
	return run(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) (code int) {
	defer recoverCode(&code, stderr)
	s := &settings{stdout: &output.Stdout{Writer: stdout}}
	root := newRoot(s)
	root.SetArgs(args)
	root.SetErr(stderr)
	return int(s.report(root.ExecuteContext(ctx), args, stderr))
}

// newRoot returns the whole tree of commands. All constructors are called here.
func newRoot(s *settings) *cobra.Command {
	root := &cobra.Command{
		Use:     "messaging",
		Short:   "Work with a messaging and events service",
		Version: messaging.Version,
		Example: `  messaging sandbox --seed demo                 # in another shell
  messaging -p sandbox doctor
  messaging -p sandbox customer list`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: s.begin,
	}
	s.fields = map[*cobra.Command]func() []string{}
	root.SetOut(s.stdout)
	s.add(root.PersistentFlags())
	root.AddCommand(
		group("broadcast", "Send an email or a push notification to many customers", newBroadcastEmail(s), newBroadcastPush(s)),
		group("event", "Define events, and trigger them",
			newEventList(s), newEventGet(s), newEventCreate(s), newEventTrigger(s), newEventApply(s)),
		group("customer", "List customers, or look one up", newCustomerList(s), newCustomerGet(s)),
		group("message", "List transactional messages", newMessageList(s)),
		group("sends", "Show what was sent from this machine, and resolve what may have been", newSendsList(s), newSendsResolve(s)),
		group("profile", "Show the profiles of the configuration file", newProfileList(s)),
		group("export", "Write all customers, events or messages to a file",
			newExportOf(s, export.Customers), newExportOf(s, export.Events), newExportOf(s, export.Messages)),
		newOutbox(s), newSandbox(s), newAPI(s), newDoctor(s))
	root.AddCommand(newTopics()...)
	root.InitDefaultHelpCmd()
	checkTopics(root)
	_ = root.RegisterFlagCompletionFunc("profile", completeProfile) // the flag exists
	return root
}

// checkTopics makes an unknown topic of "help", after which cobra shows the help of the program, an error.
func checkTopics(root *cobra.Command) {
	help, _, _ := root.Find([]string{"help"}) // it was added before
	help.Args = func(_ *cobra.Command, args []string) error {
		if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
			return exit.With(exit.Usage, "unknown help topic %q; see: %s --help", strings.Join(args, " "), root.Name())
		}
		return nil
	}
}

// completeProfile completes the names of profiles, from the configuration file.
func completeProfile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{profile.SandboxName}
	if config, err := profile.Read(); err == nil {
		names = append(config.Names(), names...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

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
	order := strings.Trim(strings.ReplaceAll(fmt.Sprintf("%d", exit.Order), " ", ", "), "[]")
	return b.String() + "\nIf several codes apply, the first in this order counts: " + order + `.
Reading changes nothing, so a read that failed never exits with 9.`
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
  key_file = "staging.key"        # beside config.toml, or ~/… in your home
  allow = ["@acme.test", "id:qa-7"]

  MESSAGING_SANDBOX_URL       inspector of the sandbox (default http://127.0.0.1:8078)
  MESSAGING_SANDBOX_TOKEN     token of a sandbox that listens on other addresses
  MESSAGING_OUTBOX_DATABASE   Postgres database of the outbox, for commands without --ledger
  XDG_STATE_HOME              folder of messaging/sends.jsonl (default ~/.local/state)
  NO_COLOR, CLICOLOR_FORCE, TERM=dumb   change what a terminal shows`
