package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
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
func checkAllowed(ctx context.Context, service *profile.Service, prepared *messaging.Prepared, flags *pflag.FlagSet,
	uncheckable string) error {
	err := service.CheckAllowed(ctx, prepared)
	refused, ok := errors.AsType[*messaging.GuardError](err)
	if !ok {
		return err
	}
	_, why, _ := strings.Cut(refused.Err.Error(), ": ")
	field, rest, _ := strings.Cut(why, " ")
	why = flagOf(field, flags) + " " + rest
	if uncheckable != "" {
		why = uncheckable + " cannot be checked: pass --to-customers"
	}
	return &wordedError{fmt.Sprintf("the profile %q allows only %s; %s; nothing was sent", service.Name,
		strings.Join(service.Allow, ", "), why), err}
}

// checkLimit returns an error if there are more recipients than the limit. hint says how to raise it.
func checkLimit(total, limit int, hint string) error {
	if total <= limit {
		return nil
	}
	return exit.With(exit.Usage, "%s exceed the limit of %s; nothing was sent%s",
		words.Count(total, "recipient"), words.Thousands(limit), hint)
}

// byFlags names the problems of a send by its flags. Other errors stay as they are.
func byFlags(err error, flags *pflag.FlagSet) error {
	invalid, ok := errors.AsType[*messaging.ValidationError](err)
	if !ok {
		return err
	}
	var problems []string
	for _, field := range invalid.Fields {
		for _, message := range field.Messages {
			flag := flagOf(field.Field, flags)
			message = strings.Replace(message, "a time.Time, or a string in the form 2006-01-02T15:04:05Z", "a time such as 2026-12-01T09:00:00Z", 1)
			if hint := valueHints[message]; hint != "" {
				message += fmt.Sprintf(hint, strings.TrimPrefix(flag, "-f "))
			}
			problems = append(problems, flag+" "+message)
		}
	}
	return &wordedError{invalid.Op + ": " + strings.Join(problems, "; ") + "; nothing was sent", err}
}

// valueHints correct the value of a parameter, by what is wrong with it.
var valueHints = map[string]string{"must be a number": ": -F %s=NUMBER", "must be a string": ": -f %s=TEXT"}

// flagOf returns the flag that sets a field, or which recipient of a broadcast has it.
func flagOf(field string, flags *pflag.FlagSet) string {
	if recipient, ok := strings.CutPrefix(field, "recipients.0.customers."); ok {
		index, name, _ := strings.Cut(recipient, ".")
		if n, err := strconv.Atoi(index); err == nil {
			return fmt.Sprintf("the %s of recipient %d", name, n+1)
		}
	}
	name, inPayload := strings.CutPrefix(field, "payload.")
	first, rest, _ := strings.Cut(name, ".")
	switch flag := strings.ReplaceAll(first, "_", "-"); {
	case inPayload && first != "email" && first != "customer":
		return "-f " + name
	case flags.Lookup(flag) == nil:
		return field
	case rest != "":
		return "--" + flag + ": " + rest
	default:
		return "--" + flag
	}
}
