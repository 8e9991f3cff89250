package definitions

import (
	"errors"
	"fmt"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/visible"
)

// file is the form of events.json.
type file struct {
	Events []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
		Parameters  []struct {
			Name     string `json:"name"`
			Type     string `json:"type"`
			Required bool   `json:"required"`
		} `json:"parameters"`
	} `json:"events"`
}

// Parse parses the content of events.json, in any order and any layout. The text of the
// error has a line for each problem, which begins with the name of the file.
func Parse(name string, data []byte) (List, error) {
	var read file
	if err := strictjson.Decode(data, &read); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if read.Events == nil {
		return nil, fmt.Errorf("%s: events are required; write [] for none", name)
	}
	var list List
	var all []error
	first := make(map[string]int) // positions of names, from 1
	for i, e := range read.Events {
		event := messaging.EventCreateParams{Name: e.Name, Description: e.Description}
		for _, p := range e.Parameters {
			event.Parameters = append(event.Parameters, messaging.EventParameter{
				Name: p.Name, Type: messaging.ParameterType(p.Type), Required: p.Required})
		}
		problems := flaws(event)
		if e.Parameters == nil {
			problems = append(problems, "parameters are required; write [] for none")
		}
		called := "event " + visible.Quote(e.Name)
		if e.Name == "" {
			called = fmt.Sprintf("event %d", i+1)
		} else if first[e.Name] > 0 {
			problems = append(problems, fmt.Sprintf("is defined several times, as event %d and as event %d of the file", first[e.Name], i+1))
		}
		for _, problem := range problems {
			all = append(all, fmt.Errorf("%s: %s: %s", name, called, problem))
		}
		first[e.Name] = i + 1
		list = append(list, event)
	}
	list.sort()
	return list, errors.Join(all...)
}
