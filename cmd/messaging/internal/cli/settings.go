package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
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

	printer *output.Printer // nil until the flags are read
	running bool            // an error is no longer about the command line
}

// keyFlags are the names of flags that would show a key to other users. They exist to say so.
var keyFlags = []string{"api-key", "key", "token"}

// once is a flag that must not be given with two values. Completion parses each flag twice.
type once struct {
	pflag.Value
	given bool
}

// Set sets the value the first time.
func (o *once) Set(value string) error {
	if o.given && o.Value.String() != value {
		return fmt.Errorf("it is given twice, as %s and %s", o.Value, value)
	}
	o.given = true
	return o.Value.Set(value)
}

// refuseTwice refuses a text that is given twice to a command or one below it: an alias may
// have the first one, and the last would win.
func refuseTwice(cmd *cobra.Command) {
	for _, each := range cmd.Commands() {
		refuseTwice(each)
	}
	for _, flags := range []*pflag.FlagSet{cmd.Flags(), cmd.PersistentFlags()} {
		flags.VisitAll(func(flag *pflag.Flag) {
			if _, wrapped := flag.Value.(*once); !wrapped && flag.Value.Type() == "string" {
				flag.Value = &once{Value: flag.Value}
			}
		})
	}
}

// clearFlagError says what a flag without a value takes, in place of which function cannot parse it, and
// which flag was probably meant.
func clearFlagError(cmd *cobra.Command, err error) error {
	if args := cmd.Flags().Args(); cmd.Annotations[isGroup] != "" && len(args) > 0 {
		return unknownCommand(cmd, args[0]) // whose flag it is
	}
	switch name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --"); {
	case name == "yes" && unknown:
		return fmt.Errorf("%w; in a script, pass --confirm with the digest that --dry-run prints", err)
	case name == "customer-id" && unknown:
		return fmt.Errorf("%w; --customer takes a JSON file, such as {\"customer_id\": \"c-1001\"}", err)
	case unknown:
		var names []string
		cmd.Flags().VisitAll(func(flag *pflag.Flag) {
			if !flag.Hidden {
				names = append(names, flag.Name)
			}
		})
		if nearest := words.Nearest(name, names); nearest != "" {
			return fmt.Errorf("%w; did you mean --%s?", err, nearest)
		}
	}
	if strings.HasPrefix(err.Error(), "unknown shorthand flag") && strings.HasPrefix(cmd.Use, "wait ") {
		return fmt.Errorf("%w; put a ! before a term that must not match", err)
	}
	if said, missing, isDuration := strings.Cut(err.Error(), ": time: missing unit in duration "); isDuration {
		return fmt.Errorf("%s: it needs a unit, such as %ss", said, strings.Trim(missing, `"`))
	}
	said, why, isValue := strings.Cut(err.Error(), ": strconv.Parse")
	if !isValue {
		return err
	}
	kind, hint := "a number", ""
	if strings.HasPrefix(why, "Bool") {
		kind = "true, false or left out"
	}
	if strings.Contains(why, `parsing ""`) {
		hint = "; is a variable not set?"
	}
	return fmt.Errorf("%s: it must be %s%s", said, kind, hint)
}

func (s *settings) add(set *pflag.FlagSet) {
	set.StringVarP(&s.profile, "profile", "p", "", "profile of the service: sandbox, or a `name` of the configuration file")
	set.DurationVar(&s.timeout, "timeout", 0, "time limit for reading, and for one send; 0 means none")
	s.output.Add(set)
	for _, name := range keyFlags {
		_ = set.String(name, "", "")
		_ = set.MarkHidden(name) // the flag exists
	}
}

// begin runs before each command.
func (s *settings) begin(cmd *cobra.Command, _ []string) error {
	for _, name := range keyFlags {
		if flag := cmd.InheritedFlags().Lookup(name); flag != nil && flag.Changed {
			return exit.With(exit.Usage, "--%s is not supported: other users see it in the list of processes, "+
				"and the shell keeps it in its history; rotate the key, and put the new one where key_command or key_file of a profile finds it", name)
		}
	}
	for _, name := range []string{"profile", "json"} {
		if flag := cmd.InheritedFlags().Lookup(name); flag != nil && flag.Changed && flag.Value.String() == "" {
			return exit.With(exit.Usage, "--%s is empty; is a variable not set?", name)
		}
	}
	if s.timeout < 0 {
		return exit.With(exit.Usage, "--timeout must not be negative")
	}
	s.printer = output.New(s.output, cmd.OutOrStdout(), cmd.ErrOrStderr(), os.LookupEnv)
	return nil
}

// noteRuns makes every command note that it runs.
func (s *settings) noteRuns(cmd *cobra.Command) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			s.running = true
			return run(cmd, args)
		}
	}
	for _, each := range cmd.Commands() {
		s.noteRuns(each)
	}
}

// limited returns ctx with the time limit of --timeout.
func (s *settings) limited(ctx context.Context) (context.Context, context.CancelFunc) {
	if s.timeout == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, s.timeout)
}

// service returns the service that the command calls.
func (s *settings) service(ctx context.Context) (*profile.Service, error) {
	return profile.Resolve(ctx, s.profile, os.LookupEnv)
}

// account returns the service that the command calls, with a key that stays the same, for a
// command that sends.
func (s *settings) account(ctx context.Context) (*profile.Service, error) {
	service, err := s.service(ctx)
	if err != nil {
		return nil, err
	}
	return service, service.Pin(ctx)
}

// client returns a client of the service that the command calls.
func (s *settings) client(cmd *cobra.Command) (*messaging.Client, error) {
	service, err := s.service(cmd.Context())
	if err != nil {
		return nil, err
	}
	return service.Client()
}

// endsEarly reports whether a code is one of an error before anything is sent, as an interrupt can cause everywhere.
func endsEarly(code exit.Code) bool {
	return code == exit.Unexpected || code == exit.Usage || code == exit.NotDone
}

// report writes an error, and returns the exit code for it.
func (s *settings) report(err error, args []string, stderr io.Writer) exit.Code {
	if errors.Is(err, output.ErrFieldsListed) {
		return exit.Done
	}
	if s.printer == nil {
		s.output.NDJSON = slices.ContainsFunc(args, func(arg string) bool { // the flags may not have been read
			return strings.HasPrefix(arg, "--json") || arg == "--ndjson"
		})
		s.printer = output.New(s.output, io.Discard, stderr, os.LookupEnv)
	}
	if own := new(exit.Error); !s.running && !errors.As(err, &own) {
		err = exit.With(exit.Usage, "%w", err) // of cobra, about a flag or an argument
	}
	code := exit.CodeOf(err)
	if errors.Is(err, context.Canceled) && (code == exit.Interrupted || !sendBegan.Load() && endsEarly(code)) {
		err = exit.With(exit.Interrupted, "%s", strings.ReplaceAll(err.Error(), context.Canceled.Error(), "interrupted"))
	}
	s.printer.Fail(err)
	return exit.CodeOf(err)
}
