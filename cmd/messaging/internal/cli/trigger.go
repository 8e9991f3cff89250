package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/confirm"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// trigger is what event trigger is about to do.
type trigger struct {
	confirm         confirm.Flags
	email, customer string
	texts, jsons    []string
	again           bool
}

func newEventTrigger(s *settings) *cobra.Command {
	var t trigger
	cmd := &cobra.Command{
		Use:   "trigger NAME|ID",
		Short: "Trigger an event for one customer",
		Long: `Trigger an event for one customer. The values are checked against the event
definition before anything is sent; "event get" shows it.`,
		Example: `  messaging -p sandbox event trigger 'order shipped' --email ada@example.com \
    -f order=A-1001 -f shipped_at=2026-01-02T15:04:05Z -F parcels=2 --dry-run`,
		Args: cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&t.email, "email", "", "`address` of the customer (required, unless --customer is given)")
	f.StringVar(&t.customer, "customer", "", "JSON `file` with the customer, whom the service creates or updates; - for stdin (or --email)")
	f.StringArrayVarP(&t.texts, "field", "f", nil, "value that is a text: `name=text`")
	f.StringArrayVarP(&t.jsons, "json-field", "F", nil, "value in JSON, such as a number: `name=json`")
	t.confirm.Add(cmd)
	cmd.MarkFlagsOneRequired("email", "customer")
	addAgain(cmd, &t.again)
	s.printsOf(cmd, &t.confirm, acceptedSend{})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return t.run(cmd, s, args[0])
	}
	return cmd
}

func (t *trigger) run(cmd *cobra.Command, s *settings, nameOrID string) error {
	params, err := t.params(cmd)
	if err != nil {
		return err
	}
	ctx := cmd.Context()
	service, err := s.account(ctx)
	if err != nil {
		return err
	}
	if params.Definition, err = s.findEvent(ctx, service.Client, nameOrID); err != nil {
		return err
	}
	readTimes(params)
	prepared, err := params.Prepare()
	var to messaging.Recipients
	if err == nil {
		to, err = prepared.Recipients()
	}
	if err == nil {
		err = errors.Join(checkAllowed(ctx, service, prepared, cmd.Flags(), ""), checkLimit(to.Count, service.MaxRecipients, ""))
	}
	if err != nil {
		return byFlags(err, cmd.Flags())
	}
	plan := confirm.NewPlan("Trigger an event", service)
	describeTrigger(plan, params)
	return s.send(ctx, &t.confirm, &send{service: service, plan: plan, question: "Trigger this event?", answer: fmt.Sprint(to.Count),
		prepared: []*messaging.Prepared{prepared}, recipients: &to.Count, subject: params.Definition.Name, again: t.again})
}

// params returns the params without the event.
func (t *trigger) params(cmd *cobra.Command) (params messaging.EventTriggerParams, err error) {
	params.Values = make(map[string]any)
	for i, argument := range append(slices.Clone(t.texts), t.jsons...) {
		name, value, found := strings.Cut(argument, "=")
		_, twice := params.Values[name]
		params.Values[name] = value
		switch isJSON := i >= len(t.texts); {
		case !found || name == "":
			return params, exit.With(exit.Usage, "-f and -F must be name=value, and not %q", argument)
		case twice:
			return params, exit.With(exit.Usage, "the value of %q is given twice", name)
		case isJSON:
			if params.Values[name], err = strictjson.Value([]byte(value)); err != nil {
				return params, exit.With(exit.Usage, "-F: the value of %q is not JSON; use -f for a text", name)
			}
		}
	}
	if params.Email = t.email; t.customer == "" {
		return params, nil
	}
	params.Customer = new(messaging.CustomerParams)
	err = decodeInput(cmd, t.customer, params.Customer)
	if errors.Is(err, fs.ErrNotExist) {
		err = exit.With(exit.Usage, "--customer takes a JSON file, such as {\"customer_id\": \"c-1001\"}: %w", err)
	}
	return params, err
}

// readTimes writes times in the form that the service reads, in whatever zone they are. Other texts
// stay as they are, and the SDK refuses them.
func readTimes(params messaging.EventTriggerParams) {
	for _, p := range params.Definition.Parameters {
		text, isText := params.Values[p.Name].(string)
		if at, err := words.ParseTime(text); isText && p.Type == messaging.ParameterTimestamp && err == nil {
			params.Values[p.Name] = at.UTC().Format("2006-01-02T15:04:05Z")
		}
	}
}

func describeTrigger(plan *confirm.Plan, params messaging.EventTriggerParams) {
	plan.Add("event", params.Definition.Name+" ("+params.Definition.ID+")")
	plan.Add("email", params.Email)
	if params.Customer != nil {
		plan.Add("customer", describeCustomer(*params.Customer))
	}
	for _, name := range slices.Sorted(maps.Keys(params.Values)) {
		value := params.Values[name]
		if value == nil {
			value = "null"
		}
		plan.Add("value", fmt.Sprintf("%s = %v", name, value))
	}
	plan.Add("when", "NOW")
}
