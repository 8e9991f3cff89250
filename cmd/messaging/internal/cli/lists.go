package cli

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sends"
	"github.com/messaging-go/messaging/internal/service"
)

// sampleTime is a time in samples: a row without a time has no field for it.
var sampleTime = time.Unix(0, 0)

var customerTable = output.Table{
	Sample: messaging.Customer{CreatedAt: sampleTime, UpdatedAt: sampleTime, LastInteraction: sampleTime},
	Columns: []string{"customer_id", "email", "first_name", "last_name", "phone_no", "providers", "customer_created_at",
		"last_interaction"},
}

func newCustomerList(s *settings) *cobra.Command {
	var ids, emails []string // nil without the flag
	var perPage int
	cmd := list{
		use: "list", short: "List all customers, or those with the given ids or addresses",
		example: `  messaging -p sandbox customer list
  messaging -p sandbox customer list --emails ada@example.com,grace@example.com --json=email,customer_id`,
		flags: func(f *pflag.FlagSet) {
			f.StringSliceVar(&ids, "ids", nil, "only customers with these ids, such as `a,b`")
			f.StringSliceVar(&emails, "emails", nil, "only customers with these addresses, such as `a,b`")
			addPerPage(f, &perPage)
		},
		table: customerTable,
		rows: ofService(func(c call, client *messaging.Client) iter.Seq2[messaging.Customer, error] {
			params := messaging.CustomerListParams{PerPage: perPage}
			if ids != nil {
				params.CustomerIDs = messaging.Only(ids...)
			}
			if emails != nil {
				params.Emails = messaging.Only(emails...)
			}
			return client.Customers.All(c.ctx, params)
		}),
	}.command(s)
	cmd.MarkFlagsMutuallyExclusive("ids", "emails")
	return cmd
}

func newCustomerGet(s *settings) *cobra.Command {
	return list{
		use: "get ID|ADDRESS", short: "Look up a customer by id or by address",
		long: "Look up a customer by id, or by address if there is an @ in it.",
		example: `  messaging -p sandbox customer get ada@example.com
  messaging -p sandbox customer get c-1002 --json`,
		args: cobra.ExactArgs(1), table: customerTable, one: true,
		rows: inService(func(c call, client *messaging.Client) (*messaging.Customer, error) {
			get := client.Customers.Get
			if strings.Contains(c.args[0], "@") {
				get = client.Customers.GetByEmail
			}
			found, err := get(c.ctx, c.args[0])
			if errors.Is(err, messaging.ErrCustomerNotFound) {
				err = exit.With(exit.NotFound, "no such customer: %s", c.args[0])
			}
			return found, err
		}),
	}.command(s)
}

var eventTable = output.Table{
	Sample:  messaging.Event{CreatedAt: sampleTime},
	Columns: []string{"id", "name", "parameters", "created_at", "description"},
	Texts: map[string]func(json.RawMessage) string{"parameters": func(value json.RawMessage) string {
		var parameters []messaging.EventParameter
		_ = json.Unmarshal(value, &parameters) // it was just encoded
		return parametersText(parameters)
	}},
}

// parametersText writes parameters such as "order:text,parcels:numeric?", with a question
// mark for one that is optional.
func parametersText(parameters []messaging.EventParameter) string {
	list := make([]string, len(parameters))
	for i, p := range parameters {
		list[i] = p.Name + ":" + string(p.Type)
		if !p.Required {
			list[i] += "?"
		}
	}
	return strings.Join(list, ",")
}

func newEventList(s *settings) *cobra.Command {
	var perPage int
	return list{
		flags: func(f *pflag.FlagSet) { addPerPage(f, &perPage) },
		use:   "list", short: "List the definitions of events",
		example: `  messaging -p sandbox event list
  messaging -p sandbox event list --json=id,name`,
		table: eventTable,
		rows: ofService(func(c call, client *messaging.Client) iter.Seq2[messaging.Event, error] {
			return client.Events.All(c.ctx, messaging.EventListParams{PerPage: perPage})
		}),
	}.command(s)
}

func newEventGet(s *settings) *cobra.Command {
	return list{
		use: "get NAME|ID", short: "Look up an event by its name or its id",
		example: `  messaging -p sandbox event get 'order shipped'
  messaging -p sandbox event get 'order shipped' --json`,
		args: cobra.ExactArgs(1), table: eventTable, one: true,
		rows: inService(func(c call, client *messaging.Client) (*messaging.Event, error) {
			return s.findEvent(c.ctx, client, c.args[0])
		}),
	}.command(s)
}

func allEvents(ctx context.Context, client *messaging.Client) iter.Seq2[messaging.Event, error] {
	return client.Events.All(ctx, messaging.EventListParams{PerPage: pageSize})
}

// findEvent returns the event with a name or an id.
func (s *settings) findEvent(ctx context.Context, client *messaging.Client, nameOrID string) (*messaging.Event, error) {
	ctx, end := s.limited(ctx)
	defer end()
	found, err := client.Events.GetByName(ctx, nameOrID)
	if !errors.Is(err, messaging.ErrEventNotFound) {
		return found, err
	}
	for event, err := range allEvents(ctx, client) {
		if err != nil || event.ID == nameOrID {
			return &event, err
		}
	}
	return nil, exit.With(exit.NotFound, "no such event: %s", nameOrID)
}

func newMessageList(s *settings) *cobra.Command {
	var perPage int
	return list{
		flags: func(f *pflag.FlagSet) { addPerPage(f, &perPage) },
		use:   "list", short: "List transactional messages, with their counts",
		example: `  messaging -p sandbox message list
  messaging -p sandbox message list --json=id,channel,total_bounced`,
		table: output.Table{
			Sample: messaging.TransactionalMessage{CreatedAt: sampleTime},
			Columns: []string{"id", "channel", "total_sent", "total_delivered", "total_failed", "total_complained", "total_bounced",
				"subject", "title", "created_at"},
		},
		rows: ofService(func(c call, client *messaging.Client) iter.Seq2[messaging.TransactionalMessage, error] {
			return client.Transactional.All(c.ctx, messaging.TransactionalListParams{PerPage: perPage})
		}),
	}.command(s)
}

func newProfileList(s *settings) *cobra.Command {
	return list{
		use: "list", short: "List the profiles, without their keys",
		example: `  messaging profile list
  messaging profile list --json=name,kind`,
		table: output.Table{Sample: profile.Service{}, Texts: map[string]func(json.RawMessage) string{"allow": allowText}},
		rows: func(_ call, write func(any) error) error {
			config, err := profile.Read()
			if err != nil {
				return err
			}
			for _, name := range config.Names() {
				found, err := config.Service(name)
				if err == nil {
					err = write(found)
				}
				if err != nil {
					return err
				}
			}
			return write(profile.BuiltIn())
		},
	}.command(s)
}

// allowText tells no list, which allows everyone, from an empty one, which allows nobody.
func allowText(value json.RawMessage) string {
	switch string(value) {
	case "null":
		return "everyone"
	case "[]":
		return "nobody"
	default:
		return output.TextOf(value)
	}
}

var sendTable = output.Table{Sample: sends.Shown{},
	Columns: []string{"id", "at", "delivery", "again", "recipients", "subject", "due", "profile", "operation", "host"}}

func newSendsList(s *settings) *cobra.Command {
	return list{
		use: "list", short: "List the broadcasts and triggers that were sent from this machine, oldest first",
		long: `List the broadcasts and triggers that were sent from this machine, oldest first. Nobody knows what
became of those whose delivery is unknown: find out, and run "sends resolve". The others
are accepted, rejected or not_sent; they are forgotten after 30 days. What was repeated with --again
says so, and no longer blocks another send. The record has the first 60 characters of the subject,
or the name of the event, and no recipient.`,
		example: `  messaging sends list
  messaging sends list --json=id,at,delivery`,
		table: sendTable,
		rows: func(_ call, write func(any) error) error {
			record, err := sends.Open()
			if err != nil {
				return err
			}
			all, err := record.List()
			for _, each := range all {
				if err := write(each.Shown); err != nil {
					return err
				}
			}
			return err
		},
	}.command(s)
}

func newSendsResolve(s *settings) *cobra.Command {
	var carriedOut, notCarriedOut bool
	return list{
		use: "resolve ID --carried-out|--not-carried-out", short: "Record what became of a send whose outcome is unknown",
		long: `Record what became of a send whose outcome is unknown, once you have found out. If it was not
carried out, the same send is no longer refused. To correct what you have recorded, record it again.`,
		example: `  messaging sends resolve JKQ4XW6DZ7MA2 --carried-out
  messaging sends resolve JKQ4XW6DZ7MA2 --not-carried-out`,
		args: cobra.ExactArgs(1), table: sendTable, one: true,
		flags: func(f *pflag.FlagSet) {
			f.BoolVar(&carriedOut, "carried-out", false, "it was carried out")
			f.BoolVar(&notCarriedOut, "not-carried-out", false, "it was not carried out, and can be sent again")
		},
		rows: func(c call, write func(any) error) error {
			if carriedOut == notCarriedOut {
				return exit.With(exit.Usage, "pass exactly one of --carried-out and --not-carried-out")
			}
			record, err := sends.Open()
			if err != nil {
				return err
			}
			delivery := messaging.DeliveryNotSent
			if carriedOut {
				delivery = messaging.DeliveryAccepted
			}
			found, err := record.Settle(c.ctx, c.args[0], delivery, false)
			if err != nil {
				return err
			}
			return write(found.Shown)
		},
	}.command(s)
}

func newAPI(s *settings) *cobra.Command {
	return s.reading("api GET PATH", "Read from a path of the service that has no command",
		`Read from a path of the service, and print the data of the response as JSON. The
path begins with a slash and is already escaped; a query can follow it.`,
		"  messaging -p sandbox api GET "+service.ListEvents.Path+"\n"+
			"  messaging -p sandbox api GET '"+service.ListCustomers.Path+"?per_page=2'",
		cobra.ExactArgs(2), nil, func(c call) error {
			if !strings.EqualFold(c.args[0], http.MethodGet) {
				return exit.With(exit.Usage, "api takes GET and a path; it only reads")
			}
			path, rawQuery, _ := strings.Cut(c.args[1], "?")
			query, err := url.ParseQuery(rawQuery)
			if err != nil {
				return exit.With(exit.Usage, "the query of the path is malformed")
			}
			client, err := c.client()
			if err != nil {
				return err
			}
			response, err := client.Do(c.ctx, messaging.Request{Method: http.MethodGet, Path: path, Query: query})
			if err != nil {
				return err
			}
			return s.printer.Object(response.Data)
		})
}
