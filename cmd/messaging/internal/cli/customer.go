package cli

import (
	"context"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
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
	var ids, emails string
	cmd := list[messaging.Customer]{
		use: "list", short: "List all customers, or those with the given ids or addresses",
		example: `  messaging -p sandbox customer list
  messaging -p sandbox customer list --emails ada@example.com,grace@example.com --json=email,customer_id
  cut -f1 ids.tsv | messaging -p sandbox customer list --ids -`,
		flags: func(f *pflag.FlagSet) {
			f.StringVar(&ids, "ids", "", "only customers with these ids: `a,b`, or - for one per line on stdin")
			f.StringVar(&emails, "emails", "", "only customers with these addresses: `a,b`, or - for one per line on stdin")
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

// customerFilters returns the filters of the flags: a single one for all customers, or as
// many as the ids or addresses need. A filter of nothing is an error.
func customerFilters(cmd *cobra.Command, ids, emails string) (filters []messaging.CustomerListParams, err error) {
	name, value := "ids", ids
	if emails != "" {
		name, value = "emails", emails
	}
	if value == "" {
		return []messaging.CustomerListParams{{PerPage: pageSize}}, nil
	}
	values, err := filterValues(cmd, name, value)
	for part := range slices.Chunk(values, filterSize) {
		filter := messaging.CustomerListParams{PerPage: pageSize}
		if name == "ids" {
			filter.CustomerIDs = part
		} else {
			filter.Emails = part
		}
		filters = append(filters, filter)
	}
	return filters, err
}

// filterValues returns the values of a filter, each once.
func filterValues(cmd *cobra.Command, name, value string) (values []string, err error) {
	all := strings.Split(value, ",")
	if value == "-" {
		data, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return nil, exit.With(exit.Usage, "--%s: %w", name, err)
		}
		all = strings.Split(string(data), "\n")
	}
	for _, each := range all {
		if each = strings.TrimSpace(each); each != "" && !slices.Contains(values, each) {
			values = append(values, each)
		} else if each == "" && value != "-" {
			return nil, exit.With(exit.Usage, "--%s has an empty element; without --%[1]s, all customers are listed", name)
		}
	}
	if values == nil {
		return nil, exit.With(exit.Usage, "--%s names nobody; without --%[1]s, all customers are listed", name)
	}
	return values, nil
}
