package cli

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// pageSize is the number of rows on a page of a list, unless --per-page sets it.
const pageSize = 100

func addPerPage(f *pflag.FlagSet, size *int) {
	f.IntVar(size, "per-page", pageSize, "ask for `N` rows at a time; fewer, if a page is too large")
}

// call is a command that runs.
type call struct {
	*settings
	ctx  context.Context // ends with --timeout
	cmd  *cobra.Command
	args []string
}

// client returns a client of the service that the command calls.
func (c call) client() (*messaging.Client, error) {
	service, err := profile.Resolve(c.ctx, c.profile)
	if err != nil {
		return nil, err
	}
	return service.Client, nil
}

// list is a command that writes rows.
type list struct {
	use, short, long, example string
	args                      cobra.PositionalArgs
	flags                     func(*pflag.FlagSet)
	table                     output.Table
	one                       bool // it is a single row
	// rows writes the rows. What came before an error is written too.
	rows func(c call, write func(row any) error) error
}

func (l list) command(s *settings) *cobra.Command {
	long := l.long
	if !l.one {
		long = cmp.Or(l.long, l.short+".") + "\n\nThe columns, also in a pipe, are " + strings.Join(l.table.Names(), ", ") + "."
	}
	cmd := s.reading(l.use, l.short, long, l.example, l.args, l.flags, l.write)
	s.fields[cmd] = l.table.Fields
	return cmd
}

// write writes the rows.
func (l list) write(c call) error {
	out := c.printer.NewRows(l.table, l.one)
	err := l.rows(c, out.Write)
	_, isVerdict := errors.AsType[verdict](err)
	return errors.Join(err, out.Close(err == nil || isVerdict))
}

// verdict is an error about rows that are complete.
type verdict struct{ error }

func (v verdict) Unwrap() error { return v.error }

// each writes the rows of a sequence.
func each[T any](rows iter.Seq2[T, error], write func(any) error) error {
	for row, err := range rows {
		if err == nil {
			err = write(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ofService returns rows that a client of the service lists.
func ofService[T any](rows func(call, *messaging.Client) iter.Seq2[T, error]) func(call, func(any) error) error {
	return func(c call, write func(any) error) error {
		client, err := c.client()
		if err != nil {
			return err
		}
		return byFlags(each(rows(c, client), write), c.cmd.Flags())
	}
}

// inService returns a row that a client of the service finds.
func inService[T any](find func(call, *messaging.Client) (*T, error)) func(call, func(any) error) error {
	return func(c call, write func(any) error) error {
		client, err := c.client()
		if err != nil {
			return err
		}
		found, err := find(c, client)
		if err != nil {
			return err
		}
		return write(found)
	}
}

// reading returns a command that changes nothing.
func (s *settings) reading(use, short, long, example string, args cobra.PositionalArgs, flags func(*pflag.FlagSet),
	run func(call) error) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: args}
	if args == nil {
		cmd.Args = cobra.NoArgs
	}
	if flags != nil {
		flags(cmd.Flags())
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		ctx, end := s.limited(cmd.Context())
		defer end()
		return run(call{s, ctx, cmd, args})
	}
	return cmd
}

// group returns a command that only holds others. A misspelled command, which cobra answers with the help, must not look like success.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 2,
		FParseErrWhitelist: cobra.FParseErrWhitelist{UnknownFlags: true}}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return exit.With(exit.Usage, "%s needs one of its commands; see: %[1]s --help", cmd.CommandPath())
		}
		hint := "see: " + cmd.CommandPath() + " --help"
		if meant := cmd.SuggestionsFor(args[0]); len(meant) > 0 {
			hint = "did you mean " + words.List(meant, "or") + "?"
		}
		return exit.With(exit.Usage, "unknown command %q for %q; %s", args[0], cmd.CommandPath(), hint)
	}
	cmd.AddCommand(commands...)
	return cmd
}
