package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// wordedError is an error of the library in the words of the command.
type wordedError struct {
	text string
	err  error
}

func (e *wordedError) Error() string { return e.text }
func (e *wordedError) Unwrap() error { return e.err }

// checkAllowed returns an error if a send could reach anyone whom the profile does not allow. uncheckable is the
// audience if it has no list of customers.
func checkAllowed(ctx context.Context, service *profile.Service, prepared *messaging.Prepared, uncheckable string) error {
	err := service.CheckAllowed(ctx, prepared)
	if err == nil {
		return nil
	}
	why := reasonOf(err)
	if uncheckable != "" {
		why = uncheckable + " cannot be checked: pass --to-customers"
	}
	return &wordedError{fmt.Sprintf("the profile %q allows only %s; %s; nothing was sent", service.Name,
		strings.Join(service.Allow, ", "), why), err}
}

// checkLimit returns an error if there are more recipients than the limit. hint says how to raise it.
func checkLimit(ctx context.Context, prepared *messaging.Prepared, limit int, hint string) error {
	if err := profile.Guarded(ctx, prepared, messaging.MaxRecipients(limit)); err != nil {
		return &wordedError{reasonOf(err) + "; nothing was sent" + hint, err}
	}
	return nil
}

// reasonOf returns why a guard refuses a send, without the name of the guard and with the flag of the field.
func reasonOf(err error) string {
	refused, ok := errors.AsType[*messaging.GuardError](err)
	if !ok {
		return err.Error()
	}
	_, why, _ := strings.Cut(refused.Err.Error(), ": ")
	field, rest, _ := strings.Cut(why, " ")
	return flagOf(field) + " " + rest
}

// byFlags names the problems of a send by its flags. event is that of a trigger. Other errors stay as they are.
func byFlags(err error, event *messaging.Event) error {
	invalid := new(messaging.ValidationError)
	if !errors.As(err, &invalid) {
		return err
	}
	var problems []string
	for _, field := range invalid.Fields {
		for _, message := range field.Messages {
			message = strings.Replace(message, "a time.Time, or a string in the form 2006-01-02T15:04:05Z", "a time such as 2026-12-01T09:00:00Z", 1)
			problems = append(problems, inFlags(field.Field, message, event))
		}
	}
	return &wordedError{invalid.Op + ": " + strings.Join(problems, "; ") + "; nothing was sent", err}
}

// inFlags says what is wrong with a field, with what corrects it.
func inFlags(field, message string, event *messaging.Event) string {
	flag := flagOf(field)
	name, isValue := strings.CutPrefix(flag, "-f ")
	switch {
	case isValue && message == "must be a number":
		return fmt.Sprintf("%s must be a number: -F %[1]s=NUMBER", name)
	case isValue && message == "must be a string":
		return fmt.Sprintf("%s must be a text: -f %[1]s=TEXT", name)
	}
	said := flag + " " + message
	if strings.HasSuffix(message, "is not a parameter of the event") {
		var names []string
		for _, p := range event.Parameters {
			names = append(names, p.Name)
		}
		if nearest := words.Nearest(name, names); nearest != "" {
			said += " (did you mean " + nearest + "?)"
		}
	}
	return said
}

// flagOf returns the flag that sets a field of a trigger, or which recipient of a broadcast has it.
func flagOf(field string) string {
	if recipient, ok := strings.CutPrefix(field, "recipients.0.customers."); ok {
		index, name, _ := strings.Cut(recipient, ".")
		if n, err := strconv.Atoi(index); err == nil {
			return fmt.Sprintf("the %s of recipient %d", name, n+1)
		}
	}
	name, inPayload := strings.CutPrefix(field, "payload.")
	switch flag := strings.ReplaceAll(field, "_", "-"); {
	case slices.Contains(emailFlagNames, flag), flag == "whatsapp-template-id":
		return "--" + flag
	case name == "email" || field == "email":
		return "--email"
	case name == "customer":
		return "--customer"
	case strings.HasPrefix(name, "customer."):
		return "--customer: " + strings.TrimPrefix(name, "customer.")
	case inPayload:
		return "-f " + name
	}
	return field
}
