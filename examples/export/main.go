// Export writes all customers as CSV to standard output, and its progress to
// standard error.
//
// When it is interrupted or a page fails, it names the cursor to resume from:
// run it again with -cursor, and append what it writes to what you have.
//
// Without MESSAGING_BASE_URL and MESSAGING_API_KEY it exports the customers of a
// service in memory.
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
	cursor := flag.String("cursor", "", "where to resume, as told by an earlier run")
	perPage := flag.Int("per-page", 100, "customers a page")
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

// connect returns a client for the service that the environment names, or for
// one in memory.
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

// export writes page by page, so that a cursor it names is never ahead of what
// it has written.
func export(ctx context.Context, client *messaging.Client, params messaging.CustomerListParams, out, progress io.Writer) error {
	table := csv.NewWriter(out)
	if params.Cursor == "" {
		if err := table.Write(header); err != nil {
			return err
		}
	}
	total := 0
	for page, err := range client.Customers.Pages(ctx, params) {
		var stopped *messaging.PageError
		if errors.As(err, &stopped) {
			if !errors.Is(err, messaging.ErrBadCursor) { // after which there is no way on
				fmt.Fprintf(progress, "\nresume with: -cursor %q\n", stopped.Cursor)
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
