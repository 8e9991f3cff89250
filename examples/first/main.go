// First triggers one event. It is the program at the start of the README.
package main

import (
	"context"
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
	response, err := client.Events.Trigger(context.Background(), messaging.EventTriggerParams{
		EventID: os.Getenv("MESSAGING_EVENT_ID"), // the ID of an event, from Events.Ensure
		Email:   "ada@example.com",
		Values:  map[string]any{"order": "A-1001", "shipped_at": time.Now()},
	})
	if err != nil {
		log.Fatal(err) // the error message tells you whether the event was triggered
	}
	fmt.Println(response.Message)
}
