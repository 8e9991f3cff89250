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
)

// Main runs the program and returns its exit code.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	args := os.Args[1:]
	defer endAtQuit(args, os.Stderr)()
	return withoutPanic(func() int { return run(ctx, args, os.Stdout, os.Stderr) }, args, os.Stderr)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s := &settings{}
	root := newRoot(s)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := root.ExecuteContext(ctx); err != nil {
		return int(s.report(err, args, stderr))
	}
	return 0
}

// newRoot returns the whole tree of commands.
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
	s.add(root.PersistentFlags())
	root.AddCommand(newBroadcast(s), newEvent(s), newCustomer(s), newMessage(s), newAPI(s),
		newSandbox(s), newGen(s), newProfile(s), newConfig(s), newDoctor(s), newCompletion(), newVersion())
	root.AddCommand(newTopics()...)
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(newExport(s), newOutbox(s))
	completeValues(root)
	setHelp(root)
	s.refuseTypos(root)
	refuseTwice(root)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return clearFlagError(cmd, err) })
	s.noteRuns(root)
	return root
}

// version returns the version of the module, and of the program if it was installed.
func version() string {
	text := messaging.Version
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		text += " (" + info.Main.Version + ")"
	}
	return text
}
