// Package definitions compares the events of a file that is committed, events.json, with those of an account.
package definitions

import (
	"fmt"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// Parse parses the content of events.json. What an event must have is checked when it is created.
func Parse(name string, data []byte) (list []messaging.EventCreateParams, err error) {
	var file struct {
		Events []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
			Parameters  []struct {
				Name     string                  `json:"name"`
				Type     messaging.ParameterType `json:"type"`
				Required bool                    `json:"required"`
			} `json:"parameters"`
		} `json:"events"`
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
		if each.Parameters != nil { // nil is an omission
			event.Parameters = []messaging.EventParameter{}
		}
		for _, p := range each.Parameters {
			event.Parameters = append(event.Parameters, messaging.EventParameter(p))
		}
		list = append(list, event)
	}
	return list, nil
}
