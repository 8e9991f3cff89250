package inspector

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/messagingtest"
)

// variables are those that were sent, and the placeholders without one.
type variables struct {
	Sent []variable
	// Supplied are placeholders that the service may fill in by itself.
	Supplied  []supplied
	Undefined []string
	// Statements reports whether the message also has {% … %}, which is not read.
	Statements bool
}

// IsEmpty reports whether there is nothing to show.
func (v variables) IsEmpty() bool {
	return len(v.Sent)+len(v.Supplied)+len(v.Undefined) == 0
}

// Unread says what of the message is not read, or is "".
func (v variables) Unread() string {
	if !v.Statements {
		return ""
	}
	return "Only names in the form {{name}} are recognized. The message also has {% … %}, which is not read here."
}

type variable struct {
	Name, Value string
	Used        bool
}

type supplied struct{ Name, Use string }

// Variables returns the variables of the message.
func (v *emailView) Variables() variables {
	sent := v.entry.Variables()
	list := variables{Statements: mail.HasStatements(v.Subject, v.Message)}
	used := make(map[string]bool)
	for _, name := range mail.Placeholders(v.Subject, v.Message) {
		variable, use := sentAs(sent, name), suppliedAs(name)
		switch {
		case variable != "":
			used[variable] = true
		case use != "":
			list.Supplied = append(list.Supplied, supplied{name, use})
		default:
			list.Undefined = append(list.Undefined, name)
		}
	}
	for _, name := range sortedKeys(sent) {
		list.Sent = append(list.Sent, variable{name, cutText(string(sent[name])), used[name]})
	}
	list.Sent, list.Supplied, list.Undefined = firstRows(list.Sent), firstRows(list.Supplied), firstRows(list.Undefined)
	return list
}

func firstRows[T any](list []T) []T { return list[:min(len(list), maxRows)] }

// sentAs returns the variable that a placeholder names, or "": either by its whole name, or with the names of
// members, as in order.id.
func sentAs(sent map[string]json.RawMessage, placeholder string) string {
	if _, ok := sent[placeholder]; ok {
		return placeholder
	}
	name, path, _ := strings.Cut(placeholder, ".")
	if value, ok := sent[name]; ok && path != "" && hasMember(value, path) {
		return name
	}
	return ""
}

func hasMember(value json.RawMessage, path string) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(value, &members) != nil {
		return false
	}
	return sentAs(members, path) != ""
}

// customerFields and serviceFields are what services for email usually fill in, without a variable. Whether this one
// does is not documented, so a placeholder with such a name is no mistake that a request shows.
var (
	customerFields = []string{"customerid", "email", "firstname", "lastname", "phoneno"}
	serviceFields  = []string{"unsubscribe", "unsubscribeurl", "unsubscribelink", "viewinbrowser", "viewinbrowserurl",
		"viewinbrowserlink", "preferences", "preferencesurl"}
)

// suppliedAs says what the service may fill in for a placeholder, or returns "".
func suppliedAs(placeholder string) string {
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(placeholder))
	switch {
	case slices.Contains(customerFields, strings.TrimPrefix(name, "customer.")):
		return "customer field? not documented"
	case slices.Contains(serviceFields, name):
		return "filled in by the service? not documented"
	default:
		return ""
	}
}

// undefinedVariables returns the placeholders of an email whose names are nowhere.
func undefinedVariables(e *history.Entry) []string {
	email, ok := e.Effect.(*messagingtest.EmailBroadcast)
	if !ok {
		return nil
	}
	return (&emailView{email, e}).Variables().Undefined
}

// variablesNote is for an email with placeholders whose names are nowhere. Each is a separate finding, since the
// same one is missing in emails with other placeholders.
func variablesNote(e *history.Entry) (r remark) {
	names := undefinedVariables(e)
	if len(names) == 0 {
		return r
	}
	for _, name := range names {
		r.common = append(r.common, fmt.Sprintf("No variable was sent for {{%s}}.", name))
	}
	r.note = history.NoteNoVariable
	r.text = fmt.Sprintf("No variable was sent for %s. What the service does with %s is not documented.", placeholders(names), it(len(names)))
	return r
}
