package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// settings are the flags that every command has.
type settings struct {
	profile string
	timeout time.Duration
	output  output.Flags
	// inspector is the URL of that of a running sandbox, for the commands that control it.
	inspector string

	// fields are those that --json can choose. They are checked before the command does anything; a command without any refuses all.
	fields     map[*cobra.Command]func() []string
	stdout     *output.Stdout
	printer    *output.Printer // nil until the flags are read
	running    bool            // an error is no longer about the command line
	carriedOut bool            // something was sent and accepted
}

func (s *settings) add(set *pflag.FlagSet) {
	set.StringVarP(&s.profile, "profile", "p", "", "profile of the service: sandbox, or a `name` of the configuration file")
	set.DurationVar(&s.timeout, "timeout", 0, "time limit for reading, and for one send; 0 means none")
	s.output.Add(set)
}

// begin runs before each command.
func (s *settings) begin(cmd *cobra.Command, _ []string) error {
	s.printer = output.New(s.output, cmd.OutOrStdout(), cmd.ErrOrStderr())
	var fields []string
	if known := s.fields[cmd]; known != nil {
		fields = known()
	}
	if err := s.printer.CheckFields(fields); err != nil {
		return err
	}
	if s.fields[cmd] == nil && s.printer.IsJSON() && !cmd.HasSubCommands() {
		return exit.With(exit.Usage, "--json and --ndjson have no effect on %s", cmd.CommandPath())
	}
	if err := errors.Join(checkFlags(cmd), cmd.ValidateRequiredFlags(), cmd.ValidateFlagGroups()); err != nil {
		return err
	}
	s.running = true
	return nil
}

// note writes a line for people, once the flags are read.
func (s *settings) note(format string, args ...any) { s.printer.Note(format, args...) }

// limited returns ctx with the time limit of --timeout.
func (s *settings) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.timeout)
}

// account returns the service that the command calls, with its key and its start, for a command that sends.
func (s *settings) account(ctx context.Context, more ...messaging.Option) (*profile.Service, error) {
	service, err := profile.Resolve(ctx, s.profile, more...)
	if err != nil {
		return nil, err
	}
	return service, service.Pin(ctx)
}

// command is another command for the same service, to be pasted into a shell.
func (s *settings) command(args ...string) string {
	words := []string{"messaging"}
	if s.profile != "" {
		words = append(words, "-p", s.profile)
	}
	words = append(words, args...)
	for i, word := range words {
		words[i] = copies.ShellQuote(word)
	}
	return strings.Join(words, " ")
}

// report writes an error, and returns the exit code for it. Output that is lost is an error, whatever the command made of it.
func (s *settings) report(err error, args []string, stderr io.Writer) exit.Code {
	if lost := s.stdout.Lost(); lost != nil && (err == nil || s.stdout.IsOf(err)) {
		err = exit.With(exit.Unexpected, "the output could not be written: %w", lost)
		if s.carriedOut {
			err = exit.With(exit.PartlyDone, "it was done, but the output could not be written: %w", lost)
		}
	} else if s.stdout.IsOf(err) {
		err = nil // nobody reads it any more
	}
	if err == nil || errors.Is(err, output.ErrFieldsListed) {
		return exit.Done
	}
	if s.printer == nil {
		s.output.NDJSON = slices.ContainsFunc(args, func(arg string) bool { // the flags may not have been read
			return strings.HasPrefix(arg, "--json") || arg == "--ndjson"
		})
		s.printer = output.New(s.output, io.Discard, stderr)
	}
	if own := new(exit.Error); !s.running && !errors.As(err, &own) {
		err = exit.With(exit.Usage, "%s", ofCommandLine(err.Error(), args))
	}
	code := exit.CodeOf(err)
	if errors.Is(err, context.Canceled) && (code == exit.Interrupted || !sendBegan.Load() && endsEarly(code)) {
		err = exit.With(exit.Interrupted, "%s", strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
	}
	s.printer.Fail(err)
	return exit.CodeOf(err)
}

// ofCommandLine returns an error of cobra, about a flag or an argument, as one line.
func ofCommandLine(text string, args []string) string {
	text, meant, found := strings.Cut(text, "\n\nDid you mean this?")
	if found {
		text += "; did you mean " + words.List(strings.Fields(meant), "or") + "?"
	}
	if at := slices.Index(args, "--json") + 1; at > 0 && at < len(args) && !strings.HasPrefix(args[at], "-") {
		text += "; the fields of --json follow an equals sign: --json=" + args[at]
	}
	return text
}

// endsEarly reports whether a code is one of an error before anything is sent, as an interrupt can cause everywhere.
func endsEarly(code exit.Code) bool {
	return code == exit.Unexpected || code == exit.Usage || code == exit.NotDone
}

// sendBegan is set before the first request that the service could carry out, and before a line of the record says
// that it begins. If the program then ends in the middle, nobody knows what became of it.
var sendBegan atomic.Bool

// endCode returns the exit code of a program that ends in the middle. The runtime would exit with 2, which says that nothing
// was sent.
func endCode() exit.Code {
	if sendBegan.Load() {
		return exit.Unknown
	}
	return exit.Unexpected
}

// endAtQuit ends the program at a signal that asks for an end at once.
func endAtQuit(stderr io.Writer) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT, syscall.SIGABRT)
	_, _ = fmt.Fprintf(stderr, "messaging: ended by a signal: %v\n", <-quit) // there is nowhere else to report it
	os.Exit(int(endCode()))
}

// recoverCode turns a panic into an exit code. The value of the panic could hold a key or an address, and is not shown.
func recoverCode(code *int, stderr io.Writer) {
	if recover() == nil {
		return
	}
	_, _ = stderr.Write(debug.Stack()) // there is nowhere else to report it
	_, _ = fmt.Fprintln(stderr, "messaging: this is a bug of the program; the stack above shows where")
	*code = int(endCode())
}
