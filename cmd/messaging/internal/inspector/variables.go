package inspector

import (
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
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
		variable, use := mail.Variable(sent, name), suppliedAs(name)
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

// suppliedAs says what the service may fill in for a placeholder, or returns "".
func suppliedAs(placeholder string) string {
	switch {
	case mail.IsCustomerField(placeholder):
		return "customer field? not documented"
	case mail.IsServiceField(placeholder):
		return "filled in by the service? not documented"
	default:
		return ""
	}
}
