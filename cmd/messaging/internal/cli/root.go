// Package cli holds the commands of the program.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/export"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// Main runs the program and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
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
		Version: version(),
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
	_ = root.RegisterFlagCompletionFunc("profile", completeProfile) // the flag exists
	return root
}

// completeProfile completes the names of profiles, from the configuration file.
func completeProfile(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	names := []string{profile.SandboxName}
	if config, err := profile.Read(os.LookupEnv); err == nil {
		names = append(config.Names(), names...)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// version returns the version of the module, and of the program if it was installed.
func version() string {
	text := messaging.Version
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		text += " (" + info.Main.Version + ")"
	}
	return text
}
