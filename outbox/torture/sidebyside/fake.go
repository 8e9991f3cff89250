package main

import (
	"net/http/httptest"
	"sync"
	"time"

	"github.com/messaging-go/messaging/internal/fake"
)

const (
	// losses is the part of the requests that the service carries out without a response.
	losses = 0.01
	// delay is how long every other request takes.
	delay = 5 * time.Millisecond
)

// observed is the service in memory. It counts by key what it carried out.
type observed struct {
	service       *fake.Server
	http          *httptest.Server
	mu            sync.Mutex
	carried, lost map[string]int
}

func startService() *observed {
	o := &observed{carried: make(map[string]int), lost: make(map[string]int)}
	o.service = fake.New(fake.Config{Observe: o.observe, History: -1})
	o.service.AddEvents(fake.Event{ID: eventID, Name: "order shipped"})
	o.service.AddRule(fake.Rule{Probability: losses, Seed: 1, Fault: fake.Fault{Kind: fake.AnswerLost}})
	o.service.AddRule(fake.Rule{Probability: 1, Fault: fake.Fault{Kind: fake.Slow, After: fake.Duration(delay)}})
	o.http = httptest.NewServer(o.service)
	return o
}

// close ends the delay of slow requests, and waits for them.
func (o *observed) close() {
	o.service.Close()
	o.http.Close()
}

func (o *observed) observe(e *fake.Exchange) {
	trigger, ok := e.Effect.(*fake.Trigger)
	if !ok {
		return
	}
	key, _ := trigger.Values["key"].(string)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.carried[key]++
	if e.Fault == fake.AnswerLost {
		o.lost[key]++
	}
}

// done returns how many of the requests were carried out, at least once.
func (o *observed) done() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.carried)
}
