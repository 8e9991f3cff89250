package messaging_test

import (
	"context"
	"fmt"
	"log"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func ExampleFindEvent() {
	service, err := messagingtest.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	service.AddEvents(messaging.Event{ID: "e-1", Name: "order shipped"}, messaging.Event{ID: "e-2", Name: "order lost"})

	// Read the list once, and look up every event in it.
	all, err := messaging.Collect(service.Client().Events.All(context.Background(), messaging.EventListParams{}))
	if err != nil {
		log.Fatal(err)
	}
	for _, name := range []string{"order shipped", "order lost", "order found"} {
		event, err := messaging.FindEvent(all, name)
		if err != nil {
			fmt.Println(name+":", err)
			continue
		}
		fmt.Println(name+":", event.ID)
	}
	// Output:
	// order shipped: e-1
	// order lost: e-2
	// order found: no such event
}
