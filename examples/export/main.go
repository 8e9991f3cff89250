// Export writes all customers to a CSV file, and its progress to standard error. The file
// is customers.csv unless -out names another.
//
// If it is stopped in any way, even by kill -9, run it again with the same -out. It then
// resumes where it stopped, and each customer is in the file once. It does not overwrite
// the file of a finished export. Do not run it twice at the same time for the same file.
//
// If MESSAGING_BASE_URL and MESSAGING_API_KEY are not set, it exports the customers of an
// in-memory service.
package main

import (
	"context"
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
	out := flag.String("out", "customers.csv", "the file to write")
	perPage := flag.Int("per-page", 100, "number of customers per page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	client, closeService, err := connect(os.Getenv)
	if err == nil {
		defer closeService()
		err = export(ctx, client, *perPage, *out, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		os.Exit(1)
	}
}

// connect returns a client for the service at MESSAGING_BASE_URL, or for an in-memory
// service if neither environment variable is set.
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

// export writes one page at a time, starting where an earlier export to the file stopped.
func export(ctx context.Context, client *messaging.Client, perPage int, path string, progress io.Writer) error {
	table, err := openTable(path)
	if err != nil {
		return err
	}
	defer table.file.Close()
	written := "customers written"
	if table.start.Bytes > 0 {
		fmt.Fprintf(progress, "resuming %s\n", path)
		written = "more customers written"
	}

	total := 0
	for page, err := range client.Customers.Pages(ctx, messaging.CustomerListParams{PerPage: perPage, Cursor: table.start.Cursor}) {
		if errors.Is(err, messaging.ErrBadCursor) { // the next run would fail at the same page
			return err
		}
		if err != nil {
			return fmt.Errorf("%w; the next run for %s resumes", err, path)
		}
		rows := make([][]string, len(page.Items))
		for i, customer := range page.Items {
			rows[i] = record(customer)
		}
		if err := table.append(page.Cursor, rows); err != nil {
			return err
		}
		total += len(page.Items)
		fmt.Fprintf(progress, "\r%d %s", total, written)
	}
	if err := table.finish(); err != nil {
		return err
	}
	fmt.Fprintf(progress, "\r%d %s; %s is complete\n", total, written, path)
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
