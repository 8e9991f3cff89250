package cli

import (
	"errors"
	"strings"

	"github.com/messaging-go/messaging"
)

// triggerError is an error about the arguments of a trigger, in the words of its flags.
type triggerError struct {
	text string
	err  error
}

func (e *triggerError) Error() string { return e.text }
func (e *triggerError) Unwrap() error { return e.err }

// byFlags names the problems of a trigger by its flags. Other errors stay as they are.
func byFlags(err error) error {
	invalid := new(messaging.ValidationError)
	if !errors.As(err, &invalid) {
		return err
	}
	var problems []string
	for _, field := range invalid.Fields {
		for _, message := range field.Messages {
			message = strings.Replace(message, "a time.Time, or a string in the form", "a time such as", 1)
			problems = append(problems, flagOf(field.Field)+" "+message)
		}
	}
	return &triggerError{invalid.Op + ": " + strings.Join(problems, "; ") + "; nothing was sent", err}
}

// flagOf returns the flag that sets a field of a trigger.
func flagOf(field string) string {
	name, inPayload := strings.CutPrefix(field, "payload.")
	switch {
	case name == "email" || field == "email":
		return "--email"
	case name == "customer" || strings.HasPrefix(name, "customer."):
		return "--customer: " + strings.TrimPrefix(strings.TrimPrefix(name, "customer"), ".")
	case inPayload:
		return "-f " + name
	}
	return field
}
