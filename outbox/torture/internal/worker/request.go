package worker

import (
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/outbox"
)

// Key returns the i-th key.
func Key(i int) string { return fmt.Sprintf("order-%07d", i) }

// Request returns the request of a key.
func Request(key string) *messaging.Prepared { return request(key, "post") }

// Large is Request with a body of 9 MB.
func Large(key string) *messaging.Prepared { return request(key, strings.Repeat("x", 9_000_000)) }

func request(key, carrier string) *messaging.Prepared {
	p, err := messaging.EventTriggerParams{EventID: "0197c7f5-order-shipped", Email: "ada@example.com",
		Values: map[string]any{"key": key, "carrier": carrier, "shipped_at": time.Unix(1_800_000_000, 0)}}.Prepare()
	if err != nil {
		panic(err)
	}
	return p
}

// ItemOf returns the entry of a key.
func ItemOf(key string) outbox.Item { return outbox.Item{Key: key, Prepared: Request(key)} }

// Items returns the entries of the first n keys.
func Items(n int) iter.Seq2[outbox.Item, error] {
	return func(yield func(outbox.Item, error) bool) {
		for i := range n {
			if !yield(ItemOf(Key(i)), nil) {
				return
			}
		}
	}
}

// Nowhere accepts every request after a delay, and counts.
type Nowhere struct {
	Delay time.Duration
	sent  atomic.Int64
}

// RoundTrip accepts a request.
func (n *Nowhere) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	time.Sleep(n.Delay)
	n.sent.Add(1)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"success":true,"data":true}`))}, nil
}

// Client returns a client that sends nowhere.
func (n *Nowhere) Client() (*messaging.Client, error) {
	return messaging.NewClient("https://nowhere.test", "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: n}))
}
