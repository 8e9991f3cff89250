package openapi

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// Unknown returns the parameters of a query, and the members of a body, that an operation does not have, by their paths, each
// with the one that was probably meant, or "". The payload of a trigger has the parameters of its event too; if the event is
// unknown, they are nil, and the payload is not looked at.
func Unknown(op *service.Operation, query url.Values, body []byte, parameters []string) map[string]string {
	found := make(map[string]string)
	for name := range query {
		if known := namesOf(op.Query); !slices.Contains(known, name) {
			found[name] = words.Nearest(name, known)
		}
	}
	var value any
	if op.Body != nil && json.Unmarshal(body, &value) == nil {
		look(found, op.Body, "", value, parameters)
	}
	return found
}

func namesOf(members []service.Member) (names []string) {
	for _, m := range members {
		names = append(names, m.Name)
	}
	slices.Sort(names)
	return names
}

// look adds the unknown members of a value that is an object, or a list of objects.
func look(found map[string]string, of *service.Object, path string, value any, parameters []string) {
	switch value := value.(type) {
	case []any:
		for i, element := range value {
			look(found, of, path+"."+strconv.Itoa(i), element, parameters)
		}
	case map[string]any:
		known := namesOf(of.Members)
		if of.Open {
			known = append(known, parameters...)
		}
		for name, member := range value {
			at := strings.TrimPrefix(path+"."+name, ".")
			switch i := slices.IndexFunc(of.Members, func(m service.Member) bool { return m.Name == name }); {
			case i >= 0 && of.Members[i].Of != nil:
				look(found, of.Members[i].Of, at, member, parameters)
			case !slices.Contains(known, name) && (!of.Open || parameters != nil):
				found[at] = words.Nearest(name, known)
			}
		}
	}
}
