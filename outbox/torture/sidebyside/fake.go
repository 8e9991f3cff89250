package main

import (
	"sync"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

const (
	// losses is the part of the requests that the service carries out without a response.
	losses = 0.01
	// delay is how long every other request takes.
	delay = 5 * time.Millisecond
)

// fake is the service in memory. It counts by key what it carried out.
type fake struct {
	*messagingtest.Server
	mu            sync.Mutex
	carried, lost map[string]int
}

func startFake() (*fake, error) {
	f := &fake{carried: make(map[string]int), lost: make(map[string]int)}
	var err error
	if f.Server, err = messagingtest.Start(messagingtest.WithObserver(f.observe), messagingtest.WithHistory(0)); err != nil {
		return nil, err
	}
	f.AddEvents(messaging.Event{ID: eventID, Name: "order shipped"})
	f.AddFaultRule(messagingtest.Rule{Probability: losses, Seed: 1, Fault: messagingtest.AnswerLost()})
	f.AddFaultRule(messagingtest.Rule{Fault: messagingtest.Slow(delay)})
	return f, nil
}

func (f *fake) observe(e *messagingtest.Exchange) {
	trigger, ok := e.Effect.(*messagingtest.Trigger)
	if !ok {
		return
	}
	key, _ := trigger.Values["key"].(string)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.carried[key]++
	if e.Fault == messagingtest.AnswerLost().Kind() {
		f.lost[key]++
	}
}

// done returns how many of the requests were carried out, at least once.
func (f *fake) done() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.carried)
}
