package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
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

var customerTable = output.Table[messaging.Customer]{
	Columns: []output.Column[messaging.Customer]{
		{Name: "customer_id", Text: func(c messaging.Customer) string { return c.CustomerID }},
		{Name: "email", Text: func(c messaging.Customer) string { return c.Email }},
		{Name: "first_name", Text: func(c messaging.Customer) string { return c.FirstName }},
		{Name: "last_name", Text: func(c messaging.Customer) string { return c.LastName }},
		{Name: "phone_no", Text: func(c messaging.Customer) string { return c.PhoneNo }},
		{Name: "providers", Text: func(c messaging.Customer) string { return strings.Join(c.Providers, ",") }},
		{Name: "created", Time: func(c messaging.Customer) time.Time { return c.CreatedAt }},
		{Name: "last_interaction", Time: func(c messaging.Customer) time.Time { return c.LastInteraction }},
	},
	Fields: output.FieldsOf(messaging.Customer{CreatedAt: sampleTime, UpdatedAt: sampleTime, LastInteraction: sampleTime}),
}

func newCustomerList(s *settings) *cobra.Command {
	var ids, emails []string
	cmd := list[messaging.Customer]{
		use: "list", short: "List all customers, or those with the given ids or addresses",
		example: `  messaging -p sandbox customer list
  messaging -p sandbox customer list --emails ada@example.com,grace@example.com --json=email,customer_id
  cut -f1 ids.tsv | messaging -p sandbox customer list --ids -`,
		flags: func(f *pflag.FlagSet) {
			f.StringSliceVar(&ids, "ids", nil, "only customers with these ids: `a,b`, or - for one per line on stdin")
			f.StringSliceVar(&emails, "emails", nil, "only customers with these addresses: `a,b`, or - for one per line on stdin")
		},
		table: customerTable,
		rows: ofService(func(c call, client *messaging.Client) iter.Seq2[messaging.Customer, error] {
			filters, err := customerFilters(c.cmd, ids, emails)
			if err != nil {
				return failed[messaging.Customer](err)
			}
			return customersOf(c.ctx, client, filters)
		}),
	}.command(s)
	cmd.MarkFlagsMutuallyExclusive("ids", "emails")
	return cmd
}

func newCustomerGet(s *settings) *cobra.Command {
	return get[messaging.Customer]{
		use: "get ID|ADDRESS", short: "Look up a customer by id or by address",
		long: "Look up a customer by id, or by address if there is an @ in it.",
		example: `  messaging -p sandbox customer get ada@example.com
  messaging -p sandbox customer get c-1002 --json`,
		args:  cobra.ExactArgs(1),
		table: customerTable,
		find: inService(func(c call, client *messaging.Client) (*messaging.Customer, error) {
			if strings.Contains(c.args[0], "@") {
				return client.Customers.GetByEmail(c.ctx, c.args[0])
			}
			return client.Customers.Get(c.ctx, c.args[0])
		}),
	}.command(s)
}

// filterSize is how many customers one request selects, so that its URL stays short.
const filterSize = 50

// customersOf ranges over the customers that any of the filters selects.
func customersOf(ctx context.Context, client *messaging.Client,
	filters []messaging.CustomerListParams) iter.Seq2[messaging.Customer, error] {
	return func(yield func(messaging.Customer, error) bool) {
		for _, filter := range filters {
			for customer, err := range client.Customers.All(ctx, filter) {
				if !yield(customer, err) || err != nil {
					return
				}
			}
		}
	}
}

// customerFilters returns a single filter for all customers, or as many as the ids or addresses need.
func customerFilters(cmd *cobra.Command, ids, emails []string) (filters []messaging.CustomerListParams, err error) {
	values := append(ids, emails...)
	if values == nil {
		return []messaging.CustomerListParams{{PerPage: pageSize}}, nil
	}
	if slices.Equal(values, []string{"-"}) {
		if values, err = linesOf(cmd.InOrStdin()); err != nil {
			return nil, exit.With(exit.Usage, "stdin: %w", err)
		}
	}
	for part := range slices.Chunk(slices.Compact(slices.Sorted(slices.Values(values))), filterSize) {
		filter := messaging.CustomerListParams{PerPage: pageSize, CustomerIDs: part}
		if ids == nil {
			filter.CustomerIDs, filter.Emails = nil, part
		}
		filters = append(filters, filter)
	}
	return filters, nil
}

// linesOf returns the lines of a text that are not empty. A text without any never means all customers.
func linesOf(in io.Reader) (lines []string, err error) {
	text, err := io.ReadAll(in)
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	if err == nil && lines == nil {
		err = errors.New("names nobody; without this flag, all customers are listed")
	}
	return lines, err
}

var eventTable = output.Table[messaging.Event]{
	Columns: []output.Column[messaging.Event]{
		{Name: "id", Text: func(e messaging.Event) string { return e.ID }},
		{Name: "name", Text: func(e messaging.Event) string { return e.Name }},
		{Name: "parameters", Text: func(e messaging.Event) string { return parametersText(e.Parameters) }},
		{Name: "description", Text: func(e messaging.Event) string { return e.Description }},
		{Name: "created", Time: func(e messaging.Event) time.Time { return e.CreatedAt }},
	},
	Fields: output.FieldsOf(messaging.Event{CreatedAt: sampleTime}),
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
	return list[messaging.Event]{
		use: "list", short: "List the definitions of events",
		example: `  messaging -p sandbox event list
  messaging -p sandbox event list --json=id,name`,
		table: eventTable,
		rows: ofService(func(c call, client *messaging.Client) iter.Seq2[messaging.Event, error] {
			return allEvents(c.ctx, client)
		}),
	}.command(s)
}

func newEventGet(s *settings) *cobra.Command {
	return get[messaging.Event]{
		use: "get NAME|ID", short: "Look up an event by its name or its id",
		example: `  messaging -p sandbox event get 'order shipped'
  messaging -p sandbox event get 'order shipped' --json`,
		args:  cobra.ExactArgs(1),
		table: eventTable,
		find: inService(func(c call, client *messaging.Client) (*messaging.Event, error) {
			return findEvent(c.ctx, client, c.args[0])
		}),
	}.command(s)
}

func allEvents(ctx context.Context, client *messaging.Client) iter.Seq2[messaging.Event, error] {
	return client.Events.All(ctx, messaging.EventListParams{PerPage: pageSize})
}

// findEvent returns the event with a name or an id.
func findEvent(ctx context.Context, client *messaging.Client, nameOrID string) (*messaging.Event, error) {
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

var messageTable = output.Table[messaging.TransactionalMessage]{
	Columns: []output.Column[messaging.TransactionalMessage]{
		{Name: "id", Text: func(m messaging.TransactionalMessage) string { return m.ID }},
		{Name: "channel", Text: func(m messaging.TransactionalMessage) string { return string(m.Channel) }},
		{Name: "title", Text: func(m messaging.TransactionalMessage) string { return m.Title }},
		{Name: "subject", Text: func(m messaging.TransactionalMessage) string { return m.Subject }},
		{Name: "sent", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalSent) }},
		{Name: "delivered", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalDelivered) }},
		{Name: "failed", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalFailed) }},
		{Name: "complained", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalComplained) }},
		{Name: "bounced", Text: func(m messaging.TransactionalMessage) string { return strconv.Itoa(m.TotalBounced) }},
		{Name: "created", Time: func(m messaging.TransactionalMessage) time.Time { return m.CreatedAt }},
	},
	Fields: output.FieldsOf(messaging.TransactionalMessage{CreatedAt: sampleTime}),
}

func newMessageList(s *settings) *cobra.Command {
	return list[messaging.TransactionalMessage]{
		use: "list", short: "List transactional messages, with their counts",
		example: `  messaging -p sandbox message list
  messaging -p sandbox message list --json=id,channel,total_bounced`,
		table: messageTable,
		rows: ofService(func(c call, client *messaging.Client) iter.Seq2[messaging.TransactionalMessage, error] {
			return client.Transactional.All(c.ctx, messaging.TransactionalListParams{PerPage: pageSize})
		}),
	}.command(s)
}

// profileRow is a profile. It never holds a key.
type profileRow struct {
	Name          string   `json:"name"`
	Kind          string   `json:"kind"`
	BaseURL       string   `json:"base_url"`
	KeySource     string   `json:"key_source"`
	MaxRecipients int      `json:"max_recipients"`
	Allow         []string `json:"allow"` // null allows everyone
	Rate          float64  `json:"rate"`  // requests a second; 0 means no limit
}

var profileTable = output.Table[profileRow]{
	Columns: []output.Column[profileRow]{
		{Name: "name", Text: func(p profileRow) string { return p.Name }},
		{Name: "kind", Text: func(p profileRow) string { return p.Kind }},
		{Name: "base_url", Text: func(p profileRow) string { return p.BaseURL }},
		{Name: "key", Text: func(p profileRow) string { return p.KeySource }},
		{Name: "max_recipients", Text: func(p profileRow) string { return strconv.Itoa(p.MaxRecipients) }},
		{Name: "allow", Text: allowText},
		{Name: "rate", Text: rateText},
	},
	Fields: output.FieldsOf(profileRow{}),
}

func allowText(p profileRow) string {
	if p.Allow == nil {
		return "everyone"
	}
	return strings.Join(p.Allow, ", ")
}

func rateText(p profileRow) string {
	if p.Rate == 0 {
		return "no limit"
	}
	return strconv.FormatFloat(p.Rate, 'f', -1, 64) + "/s"
}

// rowOf describes a profile.
func rowOf(s *profile.Service) profileRow {
	return profileRow{Name: s.Name, Kind: string(s.Kind), BaseURL: s.BaseURL, KeySource: s.KeySource,
		MaxRecipients: s.MaxRecipients, Allow: s.Allow, Rate: float64(s.Rate)}
}

func newProfileList(s *settings) *cobra.Command {
	return list[profileRow]{
		use: "list", short: "List the profiles, without their keys",
		example: `  messaging profile list
  messaging profile list --json=name,kind`,
		table: profileTable,
		rows: func(call) iter.Seq2[profileRow, error] {
			config, err := profile.Read(os.LookupEnv)
			if err != nil {
				return failed[profileRow](err)
			}
			var rows []profileRow
			for _, name := range config.Names() {
				found, err := config.Service(name)
				if err != nil {
					return failed[profileRow](err)
				}
				rows = append(rows, rowOf(found))
			}
			return ofSlice(append(rows, rowOf(profile.BuiltIn())), nil)
		},
	}.command(s)
}

var sendTable = output.Table[sends.Shown]{
	Columns: []output.Column[sends.Shown]{
		{Name: "id", Text: func(r sends.Shown) string { return r.ID }},
		{Name: "at", Time: func(r sends.Shown) time.Time { return r.At }},
		{Name: "delivery", Text: func(r sends.Shown) string { return string(r.Delivery) }},
		{Name: "recipients", Text: func(r sends.Shown) string {
			if r.Recipients == nil {
				return ""
			}
			return fmt.Sprint(*r.Recipients)
		}},
		{Name: "operation", Text: func(r sends.Shown) string { return r.Operation }},
		{Name: "host", Text: func(r sends.Shown) string { return r.Host }},
		{Name: "sha256", Text: func(r sends.Shown) string { return r.SHA256 }},
	},
	Fields: output.FieldsOf(sends.Shown{}),
}

func newSendsList(s *settings) *cobra.Command {
	return list[sends.Shown]{
		use: "list", short: "List the broadcasts and triggers that were sent from this machine, oldest first",
		long: `List the broadcasts and triggers that were sent from this machine, oldest first. Nobody knows what
became of those whose delivery is unknown or empty: find out, and run "sends resolve". The others
are accepted, rejected, not_sent, or superseded by a send with --again; they are forgotten after
30 days.`,
		example: `  messaging sends list
  messaging sends list --json=id,at,delivery`,
		table: sendTable,
		rows: func(call) iter.Seq2[sends.Shown, error] {
			record, err := sends.Open(os.LookupEnv)
			if err != nil {
				return failed[sends.Shown](err)
			}
			all, err := record.List()
			rows := make([]sends.Shown, len(all))
			for i, each := range all {
				rows[i] = each.Shown
			}
			return ofSlice(rows, err)
		},
	}.command(s)
}

func newSendsResolve(s *settings) *cobra.Command {
	var carriedOut, notCarriedOut bool
	cmd := &cobra.Command{
		Use:   "resolve ID --carried-out|--not-carried-out",
		Short: "Record what became of a send whose outcome is unknown",
		Long: `Record what became of a send whose outcome is unknown, once you have found out. If it was not
carried out, the same send is no longer refused.`,
		Example: `  messaging sends resolve JKQ4XW6DZ7MA2 --carried-out
  messaging sends resolve JKQ4XW6DZ7MA2 --not-carried-out`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if carriedOut == notCarriedOut {
				return exit.With(exit.Usage, "pass exactly one of --carried-out and --not-carried-out")
			}
			record, err := sends.Open(os.LookupEnv)
			if err != nil {
				return err
			}
			delivery := sends.NotSent
			if carriedOut {
				delivery = sends.Accepted
			}
			found, err := record.Settle(cmd.Context(), args[0], delivery)
			if err != nil {
				return err
			}
			return output.One(s.printer, sendTable, found.Shown)
		},
	}
	s.fields[cmd] = sendTable.Fields
	cmd.Flags().BoolVar(&carriedOut, "carried-out", false, "it was carried out")
	cmd.Flags().BoolVar(&notCarriedOut, "not-carried-out", false, "it was not carried out, and can be sent again")
	return cmd
}

func newAPI(s *settings) *cobra.Command {
	return s.reading("api GET PATH", "Read from a path of the service that has no command",
		`Read from a path of the service, and print the data of the response as JSON. The
path begins with a slash and is already escaped; a query can follow it.`,
		"  messaging -p sandbox api GET "+service.ListEvents.Path+"\n"+
			"  messaging -p sandbox api GET '"+service.ListCustomers.Path+"?per_page=2'",
		func(_ *cobra.Command, args []string) error {
			if len(args) != 2 || !strings.EqualFold(args[0], http.MethodGet) {
				return exit.With(exit.Usage, "api takes GET and a path; it only reads")
			}
			return nil
		}, nil, func(c call) error {
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
			return s.printer.JSON(response.Data)
		})
}
