package cli

import (
	"context"
	"os"

	"github.com/messaging-go/messaging"
)

const million = 1_000_000

// walkCustomers is a program that lists the million customers.
func walkCustomers() {
	client, err := messaging.NewClient(os.Getenv("MESSAGING_BASE_URL"), "not-a-real-key")
	if err != nil {
		panic(err)
	}
	n := 0
	for _, err := range client.Customers.All(context.Background(), messaging.CustomerListParams{PerPage: 100}) {
		if err != nil {
			panic(err)
		}
		n++
	}
	if n != million {
		panic(n)
	}
}
