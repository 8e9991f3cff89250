package cli

import (
	"bufio"
	"context"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
)

func newCustomer(s *settings) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "customer",
		Short: "List customers, or look one up",
		Example: `  messaging -p sandbox customer list
  messaging -p sandbox customer get --email ada@example.com`,
		Args: cobra.NoArgs,
	}
	cmd.AddCommand(newCustomerList(s), newCustomerGet(s))
	return cmd
}

// filterSize is how many customers one request selects, so that its URL stays short.
const filterSize = 50

func newCustomerList(s *settings) *cobra.Command {
	var ids, emails string
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List all customers, or those with the given ids or addresses",
		Example: `  messaging -p sandbox customer list
  messaging -p sandbox customer list --emails ada@example.com,grace@example.com --json=email,customer_id
  cut -f1 ids.tsv | messaging -p sandbox customer list --ids -`,
		Args: cobra.NoArgs,
	}
	cmd.Flags().StringVar(&ids, "ids", "", "only customers with these ids: `a,b`, or - for one per line on stdin")
	cmd.Flags().StringVar(&emails, "emails", "", "only customers with these addresses: `a,b`, or - for one per line on stdin")
	cmd.MarkFlagsMutuallyExclusive("ids", "emails")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		filters, err := customerFilters(cmd, ids, emails)
		if err != nil {
			return err
		}
		return list(cmd, s, customerTable, func(ctx context.Context, client *messaging.Client) iter.Seq2[messaging.Customer, error] {
			return customersOf(ctx, client, filters)
		})
	}
	return cmd
}

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
	for name, value := range map[string]string{"ids": ids, "emails": emails} {
		if !cmd.Flags().Changed(name) {
			continue
		}
		values, err := filterValues(cmd, name, value)
		if err != nil {
			return nil, err
		}
		for part := range slices.Chunk(values, filterSize) {
			filter := messaging.CustomerListParams{PerPage: pageSize}
			if name == "ids" {
				filter.CustomerIDs = part
			} else {
				filter.Emails = part
			}
			filters = append(filters, filter)
		}
	}
	if filters == nil {
		filters = []messaging.CustomerListParams{{PerPage: pageSize}}
	}
	return filters, nil
}

// filterValues returns the values of a filter, each once.
func filterValues(cmd *cobra.Command, name, value string) (values []string, err error) {
	all := strings.Split(value, ",")
	if value == "-" {
		data, err := io.ReadAll(bufio.NewReader(cmd.InOrStdin()))
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

func newCustomerGet(s *settings) *cobra.Command {
	var id, email string
	cmd := &cobra.Command{
		Use:   "get ID|ADDRESS",
		Short: "Look up a customer by id or by address",
		Example: `  messaging -p sandbox customer get --email ada@example.com
  messaging -p sandbox customer get --id c-1002 --json
  messaging -p sandbox customer get ada@example.com`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return cobra.NoArgs(cmd, args)
			}
			name := "id"
			if strings.Contains(args[0], "@") {
				name = "email"
			}
			return cmd.Flags().Set(name, args[0])
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "customer id")
	cmd.Flags().StringVar(&email, "email", "", "`address`")
	cmd.MarkFlagsMutuallyExclusive("id", "email")
	cmd.MarkFlagsOneRequired("id", "email")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := checkNotEmpty(cmd); err != nil {
			return err
		}
		return get(cmd, s, customerTable, func(ctx context.Context, client *messaging.Client) (*messaging.Customer, error) {
			if id != "" {
				return client.Customers.Get(ctx, id)
			}
			return client.Customers.GetByEmail(ctx, email)
		})
	}
	return cmd
}

// get writes the row that the service finds.
func get[T any](cmd *cobra.Command, s *settings, table output.Table[T],
	find func(ctx context.Context, client *messaging.Client) (*T, error)) error {
	if err := s.printer.CheckFields(table.Fields); err != nil {
		return err
	}
	ctx, end := s.limited(cmd.Context())
	defer end()
	client, err := s.client(cmd)
	if err != nil {
		return err
	}
	found, err := find(ctx, client)
	if err != nil {
		return asRead(err)
	}
	return output.One(s.printer, table, *found)
}
