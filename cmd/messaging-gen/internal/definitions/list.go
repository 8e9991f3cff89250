// Package definitions holds the events of an account as a file that is committed,
// events.json.
package definitions

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/visible"
)

// List is the definitions of events, sorted by name. The parameters of each are sorted by
// name too, and their types are in lower case.
type List []messaging.EventCreateParams

// sort brings the list, and what is in it, into its order.
func (l List) sort() {
	slices.SortFunc(l, func(a, b messaging.EventCreateParams) int { return strings.Compare(a.Name, b.Name) })
	for _, event := range l {
		for i, p := range event.Parameters {
			event.Parameters[i].Type = messaging.ParameterType(strings.ToLower(string(p.Type)))
		}
		slices.SortFunc(event.Parameters, func(a, b messaging.EventParameter) int { return strings.Compare(a.Name, b.Name) })
	}
}

// JSON returns the canonical form of the list. Every parameter has its own line, so that a
// diff shows what has changed.
func (l List) JSON() []byte {
	events := make([]string, len(l))
	for i, event := range l {
		parameters := make([]string, len(event.Parameters))
		for j, p := range event.Parameters {
			parameters[j] = fmt.Sprintf(`        {"name": %s, "type": %s, "required": %t}`,
				visible.JSON(p.Name), visible.JSON(string(p.Type)), p.Required)
		}
		events[i] = fmt.Sprintf(`    {
      "name": %s,
      "description": %s,
      "parameters": %s
    }`, visible.JSON(event.Name), visible.JSON(event.Description), array(parameters, "      "))
	}
	return []byte("{\n  \"events\": " + array(events, "  ") + "\n}\n")
}

func array(elements []string, indent string) string {
	if len(elements) == 0 {
		return "[]"
	}
	return "[\n" + strings.Join(elements, ",\n") + "\n" + indent + "]"
}

// flaws returns what is wrong with a definition.
func flaws(event messaging.EventCreateParams) (list []string) {
	if event.Name == "" {
		list = append(list, "has no name")
	}
	count := make(map[string]int)
	for i, p := range event.Parameters {
		switch count[p.Name]++; {
		case p.Name == "":
			list = append(list, fmt.Sprintf("parameter %d has no name", i+1))
		case count[p.Name] == 2:
			list = append(list, fmt.Sprintf("parameter %s is defined several times", visible.Quote(p.Name)))
		case p.Type == "":
			list = append(list, fmt.Sprintf("parameter %s has no type", visible.Quote(p.Name)))
		}
	}
	return list
}
