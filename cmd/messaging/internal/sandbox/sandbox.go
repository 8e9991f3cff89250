// Package sandbox runs the in-memory service on a port, and keeps what the
// inspector shows of it.
package sandbox

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/messagingtest"
)

// Config configures a sandbox.
type Config struct {
	// Listener is where the service listens.
	Listener net.Listener
	// Wrap wraps the handler of the service.
	Wrap func(http.Handler) http.Handler
	// Keep and KeepBytes limit the history.
	Keep      int
	KeepBytes int64
	// Seed is what the service stores at the start and after a reset.
	Seed Seed
}

// Sandbox is the service on a port, with its history. It is safe for concurrent
// use.
type Sandbox struct {
	History *history.Store

	service *messagingtest.Server
	seed    Seed
	port    *port
	failed  chan error

	stored    counters   // how many records the service stores
	resetting sync.Mutex // held while the state of the service is replaced
	events    numbers
	messages  numbers
}

// Start starts a sandbox. The caller must call Close.
func Start(cfg Config) (*Sandbox, error) {
	b := &Sandbox{History: history.New(cfg.Keep, cfg.KeepBytes), seed: cfg.Seed, failed: make(chan error, 1)}
	service, err := messagingtest.Start(messagingtest.WithHistory(0), messagingtest.WithObserver(b.observe),
		messagingtest.WithListener(&silentListener{addr: cfg.Listener.Addr(), closed: make(chan struct{})}))
	if err != nil {
		return nil, err
	}
	b.service = service
	b.History.EventName = b.eventName
	b.add(cfg.Seed)
	b.port = newPort(cfg.Listener, cfg.Wrap(service.Handler()), b.fail, b.History.Touch)
	return b, nil
}

// silentListener has the address of the service, but accepts nothing: the
// sandbox serves the handler of the service itself, behind its own checks.
type silentListener struct {
	addr   net.Addr
	closed chan struct{}
	once   sync.Once
}

func (l *silentListener) Accept() (net.Conn, error) {
	<-l.closed
	return nil, net.ErrClosed
}

func (l *silentListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *silentListener) Addr() net.Addr { return l.addr }

// observe is called before the response is sent.
func (b *Sandbox) observe(e *messagingtest.Exchange) {
	for _, change := range e.Customers {
		if change.Created {
			b.stored.customers.Add(1)
		}
	}
	if _, ok := e.Effect.(*messaging.Event); ok {
		b.stored.events.Add(1)
	}
	b.History.Add(e)
}

// counters count the records of the service, whose lists are costly to copy.
type counters struct{ customers, events, messages atomic.Int64 }

// URL returns the base URL of the service.
func (b *Sandbox) URL() string { return b.service.URL() }

// APIKey returns the API key of the service. It is not a secret.
func (b *Sandbox) APIKey() string { return b.service.APIKey() }

// Failed returns a channel that receives the error after which the service no
// longer listens.
func (b *Sandbox) Failed() <-chan error { return b.failed }

func (b *Sandbox) fail(err error) {
	select {
	case b.failed <- err:
	default: // one error ends the sandbox
	}
}

// Close closes the port of the service with its connections, and ends the delay
// of slow requests.
func (b *Sandbox) Close() {
	b.port.close()
	b.service.Close()
}

// Reset resets what is named: the state of the service back to the seed with the
// history and the faults ("all"), the "history" alone or the "faults" alone.
func (b *Sandbox) Reset(what string) error {
	switch what {
	case "all":
		b.resetting.Lock()
		defer b.resetting.Unlock()
		b.port.endOutage()
		b.service.Reset()
		b.stored.customers.Store(0)
		b.stored.events.Store(0)
		b.stored.messages.Store(0)
		b.add(b.seed)
		b.History.Clear()
	case "history":
		b.History.Clear()
	case "faults":
		for _, rule := range b.service.FaultRules() {
			b.service.RemoveFaultRule(rule.ID)
		}
		b.port.endOutage()
		b.History.Touch()
	default:
		return fmt.Errorf("cannot reset %q: must be all, history or faults", what)
	}
	return nil
}

// Add adds records to the service. It adds none, and returns an error, if the id
// of one exists already.
func (b *Sandbox) Add(seed Seed) error {
	b.resetting.Lock()
	defer b.resetting.Unlock()
	if err := b.checkIDs(seed); err != nil {
		return err
	}
	b.add(seed)
	b.History.Touch()
	return nil
}

// checkIDs returns an error for the first record whose id exists already.
func (b *Sandbox) checkIDs(seed Seed) error {
	stored := b.Dump()
	return errors.Join(
		checkIDs("customers", "customer_id", stored.Customers, seed.Customers, func(c messaging.Customer) string { return c.CustomerID }),
		checkIDs("events", "id", stored.Events, seed.Events, func(e messaging.Event) string { return e.ID }),
		checkIDs("messages", "id", stored.Messages, seed.Messages, func(m messaging.TransactionalMessage) string { return m.ID }))
}

func checkIDs[T any](list, field string, stored, added []T, id func(T) string) error {
	exists := make(map[string]bool, len(stored))
	for _, record := range stored {
		exists[id(record)] = true
	}
	for i, record := range added {
		if id(record) != "" && exists[id(record)] {
			return fmt.Errorf("%s.%d.%s: exists already", list, i, field)
		}
	}
	return nil
}

func (b *Sandbox) add(seed Seed) {
	b.service.AddCustomers(seed.Customers...)
	b.stored.customers.Add(int64(len(seed.Customers)))
	b.stored.events.Add(int64(len(seed.Events)))
	b.stored.messages.Add(int64(len(seed.Messages)))
	b.service.AddEvents(seed.Events...)
	b.service.AddTransactional(seed.Messages...)
}

// ErrNotFound is the error for a record that does not exist.
var ErrNotFound = errors.New("not found")
