package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/internal/pgtest"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
	"github.com/messaging-go/messaging/outbox/torture/internal/document"
	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

// TestMain lets the test binary be its own worker process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == process.First {
		if err := command(os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestEveryPartOnOneServerFillsItsTable(t *testing.T) {
	l := newLab(true)
	l.server = pgtest.URL(t)
	for _, p := range parts {
		if p.name == "databases" { // which starts servers
			continue
		}
		found, err := p.do(l, t.Context())
		if err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		for _, row := range found {
			if len(row) != len(found[0]) {
				t.Errorf("%s: got %q for the columns %q", p.name, row, found[0])
			}
		}
	}
}

func TestTheDocumentHasATableForEachPart(t *testing.T) {
	text, err := os.ReadFile("../../SCALING.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		_, rest, found := strings.Cut(string(text), document.Begin(p.name)+"\n| ")
		if !found || !strings.Contains(rest, document.End+"\n") {
			t.Errorf("SCALING.md has no table %q", p.name)
		}
	}
	if got := strings.Count(string(text), "<!-- measured"); got != len(parts) {
		t.Errorf("SCALING.md has %d tables, want %d", got, len(parts))
	}
}

func TestTheCodeInTheDocumentIsTheCodeThatRuns(t *testing.T) {
	text, err := os.ReadFile("../../SCALING.md")
	if err != nil {
		t.Fatal(err)
	}
	for file, from := range map[string]string{"shards.go": "// shards are", "consumer.go": "// handle handles"} {
		code, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, shown, _ := strings.Cut(string(code), from)
		if !strings.Contains(string(text), "```go\n"+from+shown+"```\n") {
			t.Errorf("SCALING.md does not contain the code of %s", file)
		}
	}
}

// When a database is added, the keys that move are those that the new one gets.
func TestAnAddedDatabaseMovesItsShareOfTheKeysAndNoOther(t *testing.T) {
	four, five := make(shards, 4), make(shards, 5)
	for i := range five {
		five[i] = new(outbox.Outbox[pgx.Tx])
	}
	copy(four, five)
	const keys = 20_000
	moved, of := 0, make(map[*outbox.Outbox[pgx.Tx]]int)
	for i := range keys {
		key := fmt.Sprintf("order-%d", i)
		before, after := four.of(key), five.of(key)
		of[before]++
		if before != after {
			moved++
			if after != five[4] {
				t.Fatalf("%s moved between databases that were there before", key)
			}
		}
	}
	if moved < keys*18/100 || moved > keys*22/100 {
		t.Errorf("%d of %d keys moved, want a fifth", moved, keys)
	}
	for n := range maps.Values(of) {
		if n < keys*23/100 || n > keys*27/100 {
			t.Errorf("a database has %d of %d keys, want a quarter", n, keys)
		}
	}
}

// engine delivers each message at least twice, at the same time, and again after an error.
type engine struct {
	mu       sync.Mutex
	messages [][]string
}

func (e *engine) later(keys []string, after time.Duration) error {
	time.Sleep(after)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.messages = append(e.messages, keys)
	return nil
}

func (e *engine) next() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.messages) == 0 {
		return nil
	}
	i := rand.N(len(e.messages))
	keys := e.messages[i]
	e.messages = slices.Delete(e.messages, i, i+1)
	return keys
}

func TestAConsumerSendsOnceWhatItsEngineDeliversTwice(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(messaging.Event{ID: "0197c7f5-order-shipped", Name: "order shipped"})
	service.Fail("", 1, messagingtest.RateLimited(time.Second)) // so that keys come back
	store, err := sqlitefile.Open(t.Context(), filepath.Join(t.TempDir(), "outbox.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o, err := outbox.New(store, service.Client())
	if err != nil {
		t.Fatal(err)
	}
	const entries = 60
	var e engine
	for i := range entries {
		key := fmt.Sprintf("order-%d", i)
		if _, err := o.Enqueue(t.Context(), outbox.Item{Key: key, Prepared: request(key)}); err != nil {
			t.Fatal(err)
		}
		e.messages = append(e.messages, []string{key}, []string{key})
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for keys := e.next(); keys != nil && ctx.Err() == nil; keys = e.next() {
				if err := handle(ctx, o, keys, e.later); err != nil {
					_ = e.later(keys, 0) // was not acknowledged
				}
			}
		})
	}
	group.Wait()
	counts, err := o.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := len(service.Triggers()); got != entries || counts.Accepted != entries {
		t.Errorf("the service carried out %d requests and %d entries are accepted, want %d", got, counts.Accepted, entries)
	}
}
