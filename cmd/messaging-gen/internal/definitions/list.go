// Package definitions holds the events of an account as a file that is committed,
// events.json.
package definitions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/strictjson"
)

// List is the definitions of events, sorted by name. The parameters of each are sorted by
// name too, and their types are in lower case.
type List []Event

// Event is the definition of an event. It has no id, which differs between accounts.
type Event struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Parameters  []Parameter `json:"parameters"`
}

// Parameter is a parameter of an event.
type Parameter struct {
	Name     string                  `json:"name"`
	Type     messaging.ParameterType `json:"type"`
	Required bool                    `json:"required"`
}

// file is the form of events.json.
type file struct {
	Events List `json:"events"`
}

// sort brings the list, and what is in it, into its order.
func (l List) sort() {
	slices.SortFunc(l, func(a, b Event) int { return strings.Compare(a.Name, b.Name) })
	for _, event := range l {
		for i, p := range event.Parameters {
			event.Parameters[i].Type = messaging.ParameterType(strings.ToLower(string(p.Type)))
		}
		slices.SortFunc(event.Parameters, func(a, b Parameter) int { return strings.Compare(a.Name, b.Name) })
	}
}

// JSON returns the content of events.json.
func (l List) JSON() string { return strictjson.Encode(file{l}) }

// flaws returns what is wrong with a definition.
func (e Event) flaws() (list []string) {
	if e.Name == "" {
		list = append(list, "has no name")
	}
	count := make(map[string]int)
	for i, p := range e.Parameters {
		switch count[p.Name]++; {
		case p.Name == "":
			list = append(list, fmt.Sprintf("parameter %d has no name", i+1))
		case count[p.Name] == 2:
			list = append(list, fmt.Sprintf("parameter %q is defined several times", p.Name))
		case p.Type == "":
			list = append(list, fmt.Sprintf("parameter %q has no type", p.Name))
		}
	}
	if e.Parameters == nil {
		list = append(list, "parameters are required; write [] for none")
	}
	return list
}
