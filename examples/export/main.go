// Export writes all customers as CSV to standard output, and its progress to
// standard error.
//
// If it is interrupted or a page fails, it prints the cursor to resume from. Run
// it again with -cursor, and append the output to the output of the first run.
//
// If MESSAGING_BASE_URL and MESSAGING_API_KEY are not set, it exports the
// customers of an in-memory service.
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func main() {
	cursor := flag.String("cursor", "", "resume from this cursor, which an earlier run printed")
	perPage := flag.Int("per-page", 100, "number of customers per page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	client, closeService, err := connect(os.Getenv)
	if err == nil {
		defer closeService()
		err = export(ctx, client, messaging.CustomerListParams{PerPage: *perPage, Cursor: *cursor}, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		os.Exit(1)
	}
}

// connect returns a client for the service at MESSAGING_BASE_URL, or for an
// in-memory service if the environment is not set.
func connect(getenv func(string) string) (client *messaging.Client, closeService func(), err error) {
	baseURL, apiKey := getenv("MESSAGING_BASE_URL"), getenv("MESSAGING_API_KEY")
	if baseURL != "" || apiKey != "" {
		client, err = messaging.NewClient(baseURL, apiKey)
		return client, func() {}, err
	}
	service, err := messagingtest.Start()
	if err != nil {
		return nil, nil, err
	}
	for i := range 250 {
		service.AddCustomers(messaging.Customer{Email: fmt.Sprintf("customer-%03d@example.com", i), FirstName: "Customer"})
	}
	return service.Client(), service.Close, nil
}

// export writes and flushes one page at a time. When it prints a cursor, all
// customers before that cursor have been written.
func export(ctx context.Context, client *messaging.Client, params messaging.CustomerListParams, out, progress io.Writer) error {
	table := csv.NewWriter(out)
	if params.Cursor == "" {
		if err := table.Write(header); err != nil {
			return err
		}
	}
	total := 0
	for page, err := range client.Customers.Pages(ctx, params) {
		var pageErr *messaging.PageError
		if errors.As(err, &pageErr) {
			if !errors.Is(err, messaging.ErrBadCursor) { // a bad cursor cannot be resumed from
				fmt.Fprintf(progress, "\nresume with: -cursor %q\n", pageErr.Cursor)
			}
			return err
		}
		for _, customer := range page.Items {
			if err := table.Write(record(customer)); err != nil {
				return err
			}
		}
		table.Flush()
		if err := table.Error(); err != nil {
			return err
		}
		total += len(page.Items)
		fmt.Fprintf(progress, "\r%d customers", total)
	}
	fmt.Fprintln(progress)
	return nil
}

var header = []string{"customer_id", "email", "first_name", "last_name", "phone_no", "providers", "created_at"}

func record(c messaging.Customer) []string {
	created := ""
	if !c.CreatedAt.IsZero() {
		created = c.CreatedAt.Format(time.RFC3339)
	}
	return []string{c.CustomerID, c.Email, c.FirstName, c.LastName, c.PhoneNo, strings.Join(c.Providers, " "), created}
}
