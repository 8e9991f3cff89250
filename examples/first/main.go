// First triggers one event, and prints what to do if that fails. It is the program at the
// start of the README.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/messaging-go/messaging"
)

func main() {
	client, err := messaging.NewClient(os.Getenv("MESSAGING_BASE_URL"), os.Getenv("MESSAGING_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}

	ctx := context.Background()
	shipped, err := client.Events.Ensure(ctx, messaging.EventCreateParams{ // defines it once, and finds it afterwards
		Name:        "order shipped",
		Description: "An order has left the warehouse",
		Parameters: []messaging.EventParameter{
			{Name: "order", Type: messaging.ParameterText, Required: true},
			{Name: "shipped_at", Type: messaging.ParameterTimestamp, Required: true},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Events.Trigger(ctx, messaging.EventTriggerParams{
		Definition: shipped,
		Email:      "ada@example.com",
		Values:     map[string]any{"order": "A-1001", "shipped_at": time.Now()},
	})
	switch delivery := messaging.DeliveryOf(err); {
	case delivery == messaging.DeliveryAccepted:
		fmt.Println("done")
	case messaging.Retryable(err):
		fmt.Println("queue it again:", err)
	case delivery == messaging.DeliveryUnknown:
		fmt.Println("set it aside, and check whether it was carried out:", err)
	case errors.Is(err, messaging.ErrValidation):
		fmt.Println("fix the request:", err)
	default:
		fmt.Println("keep it, and check the API key, the base URL and the host:", err)
	}
}
