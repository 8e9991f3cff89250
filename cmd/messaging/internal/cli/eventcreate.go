package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

func newEventCreate(s *settings) *cobra.Command {
	var file string
	var flags confirm.Flags
	cmd := &cobra.Command{
		Use:   "create --from-file FILE",
		Short: "Define an event, and print it with its id",
		Long: `Define an event, and print it with its id. FILE is one event in the form of events.json:

  {"name": "order lost", "description": "An order was lost.",
   "parameters": [{"name": "order", "type": "text", "required": true}]}

The service can neither change nor delete an event.`,
		Example: `  echo '{"name": "order lost", "description": "An order was lost.", "parameters": []}' >event.json
  messaging -p sandbox event create --from-file event.json --dry-run
  messaging -p sandbox event create --from-file event.json`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&file, "from-file", "", "JSON `FILE` with the event; - for stdin")
	_ = cmd.MarkFlagRequired("from-file") // the flag exists
	flags.Add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkNotEmpty(cmd); err != nil {
			return err
		}
		data, err := readInput(cmd, file)
		if err != nil {
			return err
		}
		list, err := definitions.Parse(filepath.Base(file), fmt.Appendf(nil, `{"events": [%s]}`, data))
		if err == nil && len(list) != 1 {
			err = fmt.Errorf("%s must hold one event", file)
		}
		if err != nil {
			return exit.With(exit.Invalid, "%w", err)
		}
		return createEvents(cmd, s, &flags, list)
	}
	return cmd
}

// createEvents creates the events of a list that the account does not have, after the
// operator has confirmed it.
func createEvents(cmd *cobra.Command, s *settings, flags *confirm.Flags, list definitions.List) error {
	rows, err := output.NewRows(s.printer, eventTable)
	if err == nil {
		err = flags.Check()
	}
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	service, err := s.account(ctx)
	if err != nil {
		return err
	}
	client, err := service.Client()
	if err != nil {
		return err
	}
	if !flags.DryRun {
		unlock, err := s.lockEvents(ctx, service)
		if err != nil {
			return err
		}
		defer unlock()
	}
	return s.createMissing(ctx, service, client, flags, list, rows)
}

// createMissing prints the events of a list that the account has, and creates the others.
func (s *settings) createMissing(ctx context.Context, service *profile.Service, client *messaging.Client, flags *confirm.Flags,
	list definitions.List, rows *output.Rows[messaging.Event]) error {
	drift, err := s.drift(ctx, client, list)
	if err != nil {
		return err
	}
	if differing := drift.with(differs); len(differing) > 0 {
		return exit.With(exit.Invalid, "%w\nthe service cannot change an event, so nothing was created: give it another name in the file, "+
			"or restore the definition that the account has", problemsOf(differing))
	}
	for _, row := range drift.with(current) {
		if flags.DryRun {
			break
		}
		if err := rows.Write(row.account); err != nil {
			return err
		}
	}
	missing := drift.with(missing)
	if len(missing) == 0 {
		s.printer.Note("nothing to create: the account has every event")
		if flags.DryRun { // its digest lets the command of a script succeed, however often it runs
			_, err := flags.Decide(ctx, s.printer, confirm.NewPlan("Create no events", service), confirm.NewAction(service, "", nil, "", ""))
			return err
		}
		return rows.Close()
	}
	sends, err := s.confirmEvents(ctx, service, flags, missing)
	if err != nil || sends == nil {
		return err
	}
	return s.createAll(ctx, client, sends, rows)
}

// confirmEvents shows the plan, and returns what to send, or nothing after a dry run.
func (s *settings) confirmEvents(ctx context.Context, service *profile.Service, flags *confirm.Flags,
	missing driftRows) ([]*messaging.Prepared, error) {
	sends, content, err := prepareEvents(missing)
	if err != nil {
		return nil, err
	}
	plan := confirm.NewPlan("Create events", service)
	for _, each := range missing {
		plan.Add("create", each.Event+": "+parametersOf(messaging.Event{Parameters: each.definition.Parameters}))
		describeGiven(plan, "description", words.Shortened(each.definition.Description, excerpt))
	}
	for _, odd := range missing.oddities() {
		plan.Warn("%s", odd)
	}
	action := confirm.NewAction(service, sends[0].Operation(), content, "Create "+countEvents(len(sends))+"?", fmt.Sprint(len(sends)))
	if ok, err := flags.Decide(ctx, s.printer, plan, action); err != nil || !ok {
		return nil, err
	}
	return sends, nil
}
