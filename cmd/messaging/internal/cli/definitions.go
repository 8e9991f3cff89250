package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// parameterText is what is the same for every file with events.
const parameterText = `

The known types of a parameter are text, numeric and timestamp; the service does not publish a
full list. A parameter is optional unless it has "required": true.`

func newEventCreate(s *settings) *cobra.Command {
	var file string
	c := &creation{settings: s}
	cmd := c.asking(&cobra.Command{
		Use:   "create --from-file FILE",
		Short: "Define an event, and print it with its id",
		Long: `Define an event, and print it with its id. FILE is one event in the form of events.json:

  {"name": "order lost", "description": "An order was lost.",
   "parameters": [{"name": "order", "type": "text", "required": true}]}

The service can neither change nor delete an event.` + parameterText,
		Example: `  echo '{"name": "order lost", "description": "An order was lost.", "parameters": []}' >event.json
  messaging -p sandbox event create --from-file event.json --dry-run
  messaging -p sandbox event create --from-file event.json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := c.read(cmd, file, `{"events": [%s]}`); err != nil {
				return err
			}
			if len(c.wanted) != 1 {
				return exit.With(exit.Invalid, "%s must hold one event", file)
			}
			return c.run(cmd.Context())
		},
	})
	cmd.Flags().StringVar(&file, "from-file", "", "JSON `FILE` with the event; - for stdin (required)")
	_ = cmd.MarkFlagRequired("from-file") // the flag exists
	return cmd
}

func newEventApply(s *settings) *cobra.Command {
	c := &creation{settings: s}
	compared := list{table: output.Table{Sample: definitions.Comparison{}, Columns: []string{"state", "event", "differences"}},
		rows: c.check}
	var check bool
	cmd := c.asking(&cobra.Command{
		Use:   "apply FILE",
		Short: "Create the events of a file that the account does not have",
		Long: `Create the events of a file, {"events": [{"name", "description", "parameters"}, …]}, that the
account does not have, and print all of them with their ids. What "event list --json" prints is
such a file, too. If the account has one of them with other
parameters, nothing is created: the service can neither change nor delete an event.

With --check, nothing is created: the state of each event is printed, and the exit code is
10 if an event is missing or differs. Additional optional parameters and descriptions do
not matter.` + parameterText,
		Example: `  messaging -p sandbox event apply events.json --check
  messaging -p sandbox event apply events.json --dry-run
  messaging -p sandbox event apply events.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.read(cmd, args[0], "%s"); err != nil {
				return err
			}
			if !check {
				return c.run(cmd.Context())
			}
			ctx, end := s.limited(cmd.Context())
			defer end()
			return compared.write(call{s, ctx, cmd, args})
		},
	})
	cmd.Flags().BoolVar(&check, "check", false, "compare the events with those of the account; create nothing")
	cmd.MarkFlagsMutuallyExclusive("check", "dry-run")
	cmd.MarkFlagsMutuallyExclusive("check", "confirm")
	created := s.fields[cmd]
	s.fields[cmd] = func() []string {
		if check {
			return compared.table.Fields()
		}
		return created()
	}
	return cmd
}

// creation creates the events that an account does not have.
type creation struct {
	*settings
	confirm  confirm.Flags
	wanted   []messaging.EventCreateParams
	service  *profile.Service
	compared []definitions.Comparison
	missing  []definitions.Comparison
}

func (c *creation) asking(cmd *cobra.Command) *cobra.Command {
	c.confirm.Add(cmd)
	c.printsOf(cmd, &c.confirm, eventTable.Sample)
	return cmd
}

// read reads a file of events. form makes the text of one from that of the file.
func (c *creation) read(cmd *cobra.Command, path, form string) error {
	data, err := readInput(cmd, path)
	if err != nil {
		return err
	}
	if c.wanted, err = definitions.Parse(path, fmt.Appendf(nil, form, data)); err != nil {
		return exit.With(exit.Invalid, "%w", err)
	}
	return nil
}

// check compares the events of a file with those of the account. A difference is an error.
func (c *creation) check(call call, write func(any) error) error {
	client, err := call.client()
	if err != nil {
		return err
	}
	compared, err := definitions.Compare(c.wanted, allEvents(call.ctx, client))
	for _, row := range compared {
		if err := write(row); err != nil {
			return err
		}
	}
	missing, different := definitions.With(compared, definitions.Missing), definitions.With(compared, definitions.Differs)
	if _, invalid := prepareEvents(missing); err == nil && invalid != nil {
		return verdict{exit.With(exit.Invalid, "an event cannot be created: %w", invalid)}
	} else if err == nil && len(missing)+len(different) > 0 {
		return verdict{exit.With(exit.Drift, "the account differs from %s: %d missing, %d different", call.args[0], len(missing),
			len(different))}
	}
	return err
}

// run creates the events that the account does not have, after the operator has confirmed it, and prints all of them.
func (c *creation) run(ctx context.Context) (err error) {
	if c.service, err = c.account(ctx); err != nil {
		return err
	}
	if err := c.compare(ctx); err != nil {
		return err
	}
	if len(c.missing) > 0 {
		return c.confirmed(ctx)
	}
	c.printer.Note("nothing to create: the account has every event")
	if c.confirm.DryRun { // its digest lets the command of a script succeed, however often it runs
		_, err := c.confirm.Decide(ctx, c.printer, confirm.NewPlan("Create no events", c.service), confirm.NewAction(c.service, "", nil, "", ""))
		return err
	}
	return c.print()
}

// compare compares the events with those of the account. One that differs is an error.
func (c *creation) compare(ctx context.Context) error {
	ctx, end := c.limited(ctx)
	defer end()
	compared, err := definitions.Compare(c.wanted, allEvents(ctx, c.service.Client))
	if err != nil {
		return err
	}
	var all []error
	for _, row := range definitions.With(compared, definitions.Differs) {
		all = append(all, fmt.Errorf("event %q differs: %s", row.Event, strings.Join(row.Differences, "; ")))
	}
	if all != nil {
		return exit.With(exit.Invalid, "%w\nthe service cannot change an event, so nothing was created: give it another name in the file, "+
			"or restore the definition that the account has", errors.Join(all...))
	}
	c.compared, c.missing = compared, definitions.With(compared, definitions.Missing)
	return nil
}

// print prints the events as the account has them.
func (c *creation) print() error {
	rows := c.printer.NewRows(eventTable, false)
	for _, row := range c.compared {
		if err := rows.Write(row.Account); err != nil {
			return err
		}
	}
	return rows.Close(true)
}

// confirmed asks, and creates what is missing.
func (c *creation) confirmed(ctx context.Context) error {
	prepared, err := prepareEvents(c.missing)
	if err != nil {
		return err
	}
	plan := confirm.NewPlan("Create events", c.service)
	for _, each := range c.missing {
		plan.Add("create", each.Event+": "+parametersText(each.Wanted.Parameters))
		plan.Add("description", words.Shortened(each.Wanted.Description, excerpt))
	}
	count := words.Count(len(prepared), "event")
	all := &send{service: c.service, plan: plan, question: "Create " + count + "?", answer: fmt.Sprint(len(prepared)),
		prepared: prepared, unrecorded: true, recheck: c.recheck, unknown: c.lookUp}
	err = c.send(ctx, &c.confirm, all)
	switch {
	case err != nil && all.done > 0:
		return errors.Join(err, exit.With(exit.PartlyDone, "%d of %s were created; run the same command again to create the others",
			all.done, count))
	case err != nil || c.confirm.DryRun:
		return err
	}
	if err := c.compare(context.WithoutCancel(ctx)); err != nil {
		return exit.With(exit.PartlyDone, "%s created, but not listed: %w", count, err)
	}
	return c.print()
}

// recheck looks again whether the account has the events, which another operator may have created.
func (c *creation) recheck(ctx context.Context) error {
	before := len(c.missing)
	if err := c.compare(ctx); err != nil {
		return err
	}
	if len(c.missing) != before {
		return exit.With(exit.Usage, "nothing was created: the account has changed since the plan was shown; run the command again")
	}
	return nil
}

// lookUp finds out whether an event was created although the response was lost.
func (c *creation) lookUp(ctx context.Context, i int, lost error) error {
	ctx, end := c.limited(context.WithoutCancel(ctx))
	defer end()
	if _, err := c.service.Client.Events.GetByName(ctx, c.missing[i].Event); err != nil {
		return exit.With(exit.Unknown, "%w\nbefore you create it again, see whether it is there: %s", lost, c.command("event", "list"))
	}
	return nil
}

// prepareEvents prepares the creation of events.
func prepareEvents(missing []definitions.Comparison) (prepared []*messaging.Prepared, err error) {
	for _, each := range missing {
		one, err := each.Wanted.Prepare()
		if err != nil {
			return nil, fmt.Errorf("event %q: %w", each.Event, err)
		}
		prepared = append(prepared, one)
	}
	return prepared, nil
}
