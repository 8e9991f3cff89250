package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// state is how an event of a file stands in the account.
type state string

const (
	current state = "current"
	missing state = "missing"
	differs state = "differs"
)

// driftRow is an event of a file, and how it stands in the account.
type driftRow struct {
	Event       string   `json:"event"`
	State       state    `json:"state"`
	Differences []string `json:"differences"`

	definition messaging.EventCreateParams
	account    messaging.Event // if State is current
	alike      string          // an event of the account with nearly the same name, or ""
}

type driftRows []driftRow

// with returns the rows with a state.
func (d driftRows) with(wanted state) driftRows {
	return slices.DeleteFunc(slices.Clone(d), func(row driftRow) bool { return row.State != wanted })
}

var driftTable = output.Table[driftRow]{
	Columns: []output.Column[driftRow]{
		{Name: "state", Text: func(d driftRow) string { return string(d.State) }},
		{Name: "event", Text: func(d driftRow) string { return d.Event }},
		{Name: "differences", Text: func(d driftRow) string { return strings.Join(d.Differences, "; ") }},
	},
	Fields: output.FieldsOf(driftRow{}),
}

func newEventPlan(s *settings) *cobra.Command {
	return &cobra.Command{
		Use:   "plan FILE",
		Short: "Compare the events of a file with those of the account",
		Long: `Compare the events of a file, in the form of events.json, with those of the account. The
exit code is 10 if an event is missing, or if the account has it with other parameters.
Additional optional parameters and descriptions do not matter. Nothing is sent.`,
		Example: `  messaging -p sandbox event plan events.json
  messaging -p sandbox event plan events.json --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			rows, err := output.NewRows(s.printer, driftTable)
			if err != nil {
				return err
			}
			wanted, err := readDefinitions(cmd, args[0])
			if err != nil {
				return err
			}
			client, err := s.client(cmd)
			if err != nil {
				return err
			}
			drift, err := s.drift(cmd.Context(), client, wanted)
			if err != nil {
				return err
			}
			for _, row := range drift {
				if err := rows.Write(row); err != nil {
					return err
				}
			}
			for _, odd := range drift.with(missing).oddities() {
				s.printer.Warn("%s", odd)
			}
			err = rows.Close()
			if _, _, invalid := prepareEvents(drift.with(missing)); err == nil && invalid != nil {
				return exit.With(exit.Invalid, "an event cannot be created: %w", invalid)
			}
			if lost, other := len(drift.with(missing)), len(drift.with(differs)); err == nil && lost+other > 0 {
				err = exit.With(exit.Drift, "the account differs from %s: %d missing, %d different", args[0], lost, other)
			}
			return err
		},
	}
}

func newEventApply(s *settings) *cobra.Command {
	var flags confirm.Flags
	cmd := &cobra.Command{
		Use:   "apply FILE",
		Short: "Create the events of a file that the account does not have",
		Long: `Create the events of a file, in the form of events.json, that the account does not have,
and print all events of the file with their ids. If the account has one of them with other parameters,
nothing is created: the service can neither change nor delete an event.`,
		Example: `  messaging -p sandbox event apply events.json --dry-run
  messaging -p sandbox event apply events.json`,
		Args: cobra.ExactArgs(1),
	}
	flags.Add(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkNotEmpty(cmd); err != nil {
			return err
		}
		wanted, err := readDefinitions(cmd, args[0])
		if err != nil {
			return err
		}
		return createEvents(cmd, s, &flags, wanted)
	}
	return cmd
}

func readDefinitions(cmd *cobra.Command, path string) (definitions.List, error) {
	data, err := readInput(cmd, path)
	if err != nil {
		return nil, err
	}
	list, err := definitions.Parse(path, data)
	if err != nil {
		return nil, exit.With(exit.Invalid, "%w", err)
	}
	return list, nil
}

// drift compares events with those of the account.
func (s *settings) drift(ctx context.Context, client *messaging.Client, wanted definitions.List) (drift driftRows, err error) {
	ctx, end := s.limited(ctx)
	defer end()
	account := make(map[string][]messaging.Event)
	for event, err := range allEvents(ctx, client) {
		if err != nil {
			return nil, asRead(err)
		}
		sameID := func(other messaging.Event) bool { return other.ID == event.ID }
		if !slices.ContainsFunc(account[event.Name], sameID) { // a list that shifts between two pages has an event twice
			account[event.Name] = append(account[event.Name], event)
		}
	}
	names := slices.Sorted(maps.Keys(account))
	for _, definition := range wanted {
		row := driftRow{Event: definition.Name, State: current, Differences: []string{}, definition: definition}
		switch found := account[definition.Name]; len(found) {
		case 0:
			row.State = missing
			for _, name := range names {
				if strings.EqualFold(name, definition.Name) {
					row.alike = name
				}
			}
		case 1:
			row.account = found[0]
			row.Differences = append(row.Differences, definitions.Differences(definition, found[0])...)
		default:
			row.Differences = append(row.Differences, fmt.Sprintf("the account has %d events with this name", len(found)))
		}
		if len(row.Differences) > 0 {
			row.State = differs
		}
		drift = append(drift, row)
	}
	return drift, nil
}

// problemsOf returns an error with a line for each event.
func problemsOf(rows driftRows) error {
	var all []error
	for _, row := range rows {
		all = append(all, fmt.Errorf("event %q differs: %s", row.Event, strings.Join(row.Differences, "; ")))
	}
	return errors.Join(all...)
}

// oddities returns a line for each event that looks like one of the account, and for each parameter whose type the service
// does not document.
func (rows driftRows) oddities() (lines []string) {
	known := []messaging.ParameterType{messaging.ParameterText, messaging.ParameterNumeric, messaging.ParameterTimestamp}
	for _, row := range rows {
		if row.alike != "" {
			lines = append(lines, fmt.Sprintf("event %q: the account has %q, which differs only in case; an event can never be deleted",
				row.Event, row.alike))
		}
		for _, p := range row.definition.Parameters {
			if !slices.Contains(known, messaging.ParameterType(strings.ToLower(string(p.Type)))) {
				lines = append(lines, fmt.Sprintf("event %q: the type %q of parameter %q is not text, numeric or timestamp",
					row.Event, p.Type, p.Name))
			}
		}
	}
	return lines
}

// prepareEvents prepares the creation of events. The content is what the operator confirms.
func prepareEvents(rows driftRows) (sends []*messaging.Prepared, content []byte, err error) {
	for _, row := range rows {
		row.definition.Parameters = append([]messaging.EventParameter{}, row.definition.Parameters...) // never nil
		prepared, err := row.definition.Prepare()
		if err != nil {
			return nil, nil, fmt.Errorf("event %q: %w", row.Event, err)
		}
		sends = append(sends, prepared)
		content = append(append(content, prepared.Body()...), '\n')
	}
	return sends, content, nil
}

func countEvents(n int) string { return words.Count(n, "event") }

// createAll creates events one after the other, and writes each with its id.
func (s *settings) createAll(ctx context.Context, client *messaging.Client, sends []*messaging.Prepared,
	rows *output.Rows[messaging.Event]) error {
	for i, prepared := range sends {
		event, err := s.createEvent(ctx, client, prepared)
		if err != nil {
			if i > 0 {
				unknown := ""
				if messaging.DeliveryOf(err) == messaging.DeliveryUnknown {
					unknown = ", and one more may have been"
				}
				err = errors.Join(err, exit.With(exit.PartlyDone, "%d of %s were created%s; run the same command again to create the others",
					i, countEvents(len(sends)), unknown))
			}
			return errors.Join(err, rows.Close())
		}
		if err := rows.Write(event); err != nil {
			return s.cannotPrint(i+1, len(sends), err)
		}
	}
	if err := rows.Close(); err != nil {
		return s.cannotPrint(len(sends), len(sends), err)
	}
	return nil
}

// cannotPrint returns the error for events that were created, but whose ids were not printed.
func (s *settings) cannotPrint(created, wanted int, err error) error {
	return exit.With(exit.PartlyDone, "%d of %s created, but not printed: %w; to see them: %s", created, countEvents(wanted), err,
		s.command("event", "list"))
}

func (s *settings) createEvent(ctx context.Context, client *messaging.Client,
	prepared *messaging.Prepared) (event messaging.Event, err error) {
	response, err := s.send(ctx, client, prepared)
	switch {
	case exit.CodeOf(err) == exit.Unknown:
		return event, exit.With(exit.Unknown, "%w\nbefore you create it again, see whether it is there: %s", err, s.command("event", "list"))
	case err != nil:
		return event, err
	case response == nil, json.Unmarshal(response.Data, &event) != nil:
		return event, exit.With(exit.PartlyDone, "the event was created, but its id cannot be read; to see it: %s", s.command("event", "list"))
	}
	return event, nil
}
