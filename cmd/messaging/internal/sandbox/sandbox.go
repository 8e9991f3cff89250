// Package sandbox runs the in-memory service on a port, and keeps what the
// inspector shows of it.
package sandbox

import (
	"cmp"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/internal/fake"
)

// Config configures a sandbox.
type Config struct {
	// Listener is where the service listens.
	Listener net.Listener
	// Wrap wraps the handler of the service.
	Wrap func(http.Handler) http.Handler
	// Keep limits the number of requests in the history, and KeepBytes their memory.
	Keep      int
	KeepBytes int64
	// MaxRecords limits the records of each kind; 0 means no limit.
	MaxRecords int
	// Key is the API key of the service.
	Key string
	// Identifier is the field that identifies a customer. If it is "", either does.
	Identifier fake.Identifier
	// Seed is what the service stores at the start and after a reset.
	Seed records.Seed
	// SeedName is the name of the seed, for people who ask which sandbox this is.
	SeedName string
	// StartID tells this start from others, for programs that remember what they sent. If
	// it is "", it is random.
	StartID string
	// Log, unless it is nil, is called with each request before its response is sent.
	Log func(*history.Entry)
}

// Sandbox is the service on a port, with its records and its history. It is safe for
// concurrent use.
type Sandbox struct {
	Config  Config
	History *history.Store
	Records *records.Store
	Started time.Time

	service *fake.Server
	port    *port
	failed  chan error
}

// Start starts a sandbox. The caller must call Close.
func Start(cfg Config) (*Sandbox, error) {
	b := &Sandbox{Config: cfg, History: history.New(cfg.Keep, cfg.KeepBytes), Started: time.Now(), failed: make(chan error, 1)}
	b.Config.StartID = cmp.Or(cfg.StartID, b.History.Boot)
	b.service = fake.New(fake.Config{Key: cfg.Key, Identifier: cfg.Identifier, NoHistory: true, MaxRecords: cfg.MaxRecords,
		Observe: b.observe})
	b.Records = &records.Store{Server: b.service}
	b.History.EventName = func(id string) string {
		event, _ := b.service.Event(id)
		return event.Name
	}
	b.History.Notes = func(e *history.Entry) []history.Note { return findings.Of(e, b.Records) }
	b.Records.Reset(b.Config.Seed)
	b.port = newPort(cfg.Listener, cfg.Wrap(b.service), b.fail, b.History.Touch)
	return b, nil
}

// observe is called before the response is sent.
func (b *Sandbox) observe(e *fake.Exchange) {
	withoutCredentials(&e.Request)
	entry := b.History.Add(e)
	if b.Config.Log != nil {
		b.Config.Log(entry)
	}
}

// Addr returns the address of the service.
func (b *Sandbox) Addr() string { return b.port.address }

// APIKey returns the API key of the service. It is not a secret.
func (b *Sandbox) APIKey() string { return b.service.APIKey() }

// Failed returns a channel that receives the error after which the service no longer listens.
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
// history and the faults ("all"), only the "history" or only the "faults".
func (b *Sandbox) Reset(what string) error {
	if what != "all" && what != "history" && what != "faults" {
		return fmt.Errorf("cannot reset %q: must be all, history or faults", what)
	}
	if what != "history" {
		b.port.endOutage()
		b.service.RemoveRules()
		b.History.Touch()
	}
	if what == "all" {
		b.Records.Reset(b.Config.Seed)
	}
	if what != "faults" {
		b.History.Clear()
	}
	return nil
}

// Add adds records to the service. It adds none, and returns an error, if the id of
// one already exists.
func (b *Sandbox) Add(seed records.Seed) error {
	if err := b.Records.Add(seed); err != nil {
		return err
	}
	b.History.Touch()
	return nil
}
