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
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// pageSize is the number of rows on a page of a list.
const pageSize = 100

// call is a command that runs.
type call struct {
	*settings
	ctx  context.Context // ends with --timeout
	cmd  *cobra.Command
	args []string
}

// client returns a client of the service that the command calls.
func (c call) client() (*messaging.Client, error) {
	service, err := c.service(c.ctx)
	if err != nil {
		return nil, err
	}
	return service.Client()
}

// list is a command that writes rows.
type list[T any] struct {
	use, short, long, example string
	args                      cobra.PositionalArgs
	flags                     func(*pflag.FlagSet)
	table                     output.Table[T]
	// rows ranges over the rows. What came before an error is written too.
	rows func(call) iter.Seq2[T, error]
}

func (l list[T]) command(s *settings) *cobra.Command {
	names := make([]string, len(l.table.Columns))
	for i, column := range l.table.Columns {
		names[i] = column.Name
	}
	long := cmp.Or(l.long, l.short+".") + "\n\nThe columns, also in a pipe, are " + strings.Join(names, ", ") + "."
	cmd := s.reading(l.use, l.short, long, l.example, l.args, l.flags, l.write)
	s.fields[cmd] = l.table.Fields
	return cmd
}

// write writes the rows.
func (l list[T]) write(c call) error {
	out := output.NewRows(c.printer, l.table)
	for row, err := range l.rows(c) {
		if err == nil {
			err = out.Write(row)
		}
		if err != nil {
			return errors.Join(err, out.Close())
		}
	}
	return out.Close()
}

// get is a command that writes one row.
type get[T any] struct {
	use, short, long, example string
	args                      cobra.PositionalArgs
	flags                     func(*pflag.FlagSet)
	table                     output.Table[T]
	find                      func(call) (*T, error)
}

func (g get[T]) command(s *settings) *cobra.Command {
	cmd := s.reading(g.use, g.short, g.long, g.example, g.args, g.flags, func(c call) error {
		found, err := g.find(c)
		if err != nil {
			return err
		}
		return output.One(s.printer, g.table, *found)
	})
	s.fields[cmd] = g.table.Fields
	return cmd
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

// ofService returns the rows that a client of the service lists.
func ofService[T any](rows func(call, *messaging.Client) iter.Seq2[T, error]) func(call) iter.Seq2[T, error] {
	return func(c call) iter.Seq2[T, error] {
		client, err := c.client()
		if err != nil {
			return failed[T](err)
		}
		return rows(c, client)
	}
}

// inService finds a row with a client of the service.
func inService[T any](find func(call, *messaging.Client) (*T, error)) func(call) (*T, error) {
	return func(c call) (*T, error) {
		client, err := c.client()
		if err != nil {
			return nil, err
		}
		return find(c, client)
	}
}

// ofSlice returns rows that are there already, or why they are not.
func ofSlice[T any](rows []T, err error) iter.Seq2[T, error] {
	if err != nil {
		return failed[T](err)
	}
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
	}
}

func failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
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
