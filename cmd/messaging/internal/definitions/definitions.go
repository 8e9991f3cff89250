// Package definitions compares the events of a file that is committed, events.json, with those of an account.
package definitions

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Parse parses the content of events.json, or a list of events as it was printed. What an event must have is checked when it
// is created.
func Parse(name string, data []byte) (list []messaging.EventCreateParams, err error) {
	var file struct {
		Events []struct {
			ID          string `json:"id"`
			Name        string `json:"name"`
			Description string `json:"description"`
			Parameters  []struct {
				Name     string                  `json:"name"`
				Type     messaging.ParameterType `json:"type"`
				Required bool                    `json:"required"`
			} `json:"parameters"`
			CreatedAt json.RawMessage `json:"created_at"`
		} `json:"events"`
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) {
		data = fmt.Appendf(nil, `{"events": %s}`, data)
	}
	if err := strictjson.Decode(data, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	seen := map[string]bool{}
	for _, each := range file.Events {
		if seen[each.Name] {
			return nil, fmt.Errorf("%s: event %s is defined several times", name, visible.Quote(each.Name))
		}
		seen[each.Name] = true
		event := messaging.EventCreateParams{Name: each.Name, Description: each.Description}
		if each.Parameters != nil || each.ID != "" { // otherwise, nil is an omission
			event.Parameters = []messaging.EventParameter{}
		}
		for _, p := range each.Parameters {
			event.Parameters = append(event.Parameters, messaging.EventParameter{Name: p.Name, Type: p.Type, Required: p.Required})
		}
		list = append(list, event)
	}
	return list, nil
}

// State is how an event of a file stands in the account.
type State string

// The states.
const (
	Current State = "current"
	Missing State = "missing"
	Differs State = "differs"
)

// Comparison is an event of a file, and how it stands in the account.
type Comparison struct {
	Event       string   `json:"event"`
	State       State    `json:"state"`
	Differences []string `json:"differences"`

	Wanted  messaging.EventCreateParams `json:"-"`
	Account messaging.Event             `json:"-"` // if State is Current
}

// With returns the comparisons with a state.
func With(all []Comparison, wanted State) []Comparison {
	return slices.DeleteFunc(slices.Clone(all), func(c Comparison) bool { return c.State != wanted })
}

// Compare compares events with those of an account.
func Compare(wanted []messaging.EventCreateParams, account iter.Seq2[messaging.Event, error]) (all []Comparison, err error) {
	events, err := messaging.Collect(account)
	if err != nil {
		return nil, err
	}
	for _, each := range wanted {
		c := Comparison{Event: each.Name, State: Current, Differences: []string{}, Wanted: each}
		found, err := messaging.FindEvent(events, each.Name)
		switch {
		case errors.Is(err, messaging.ErrEventNotFound):
			c.State = Missing
		case err != nil:
			c.Differences = append(c.Differences, "the account has several events with this name, and different parameters")
		default:
			c.Account = *found
			c.Differences = append(c.Differences, differences(each, *found)...)
		}
		if len(c.Differences) > 0 {
			c.State = Differs
		}
		all = append(all, c)
	}
	return all, nil
}

// differences returns why an event of an account cannot be triggered as wanted describes it.
// As for [messaging.EventsService.Ensure], descriptions, additional optional parameters, and
// parameters that identify the customer do not matter.
func differences(wanted messaging.EventCreateParams, account messaging.Event) (list []string) {
	named := func(name string, parameters []messaging.EventParameter) int {
		return slices.IndexFunc(parameters, func(p messaging.EventParameter) bool { return p.Name == name })
	}
	for _, p := range wanted.Parameters {
		i := named(p.Name, account.Parameters)
		if i < 0 {
			list = append(list, fmt.Sprintf("parameter %s is missing in the account", visible.Quote(p.Name)))
			continue
		}
		if found := account.Parameters[i]; !strings.EqualFold(string(found.Type), string(p.Type)) {
			list = append(list, fmt.Sprintf("parameter %s is %s in the account, not %s", visible.Quote(p.Name), found.Type, p.Type))
		} else if found.Required && !p.Required {
			list = append(list, fmt.Sprintf("parameter %s is required in the account", visible.Quote(p.Name)))
		}
	}
	for _, p := range account.Parameters {
		if p.Required && p.Name != "email" && p.Name != "customer" && named(p.Name, wanted.Parameters) < 0 {
			list = append(list, fmt.Sprintf("the account requires another parameter, %s", visible.Quote(p.Name)))
		}
	}
	return list
}
