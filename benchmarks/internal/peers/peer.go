// Package peers contains the clients that the benchmarks compare with the SDK.
// Each client walks a list in the wire format of its own service, as its
// documentation recommends, and makes one small call.
package peers

import (
	"context"
	"iter"
	"net/http"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// Client is a client for one service.
type Client interface {
	// Walk iterates over all rows of the list and returns their number.
	Walk(ctx context.Context, perPage int) (rows int, err error)
	// Call makes one small call that changes something.
	Call(ctx context.Context) error
}

// Peer is a kind of client, and the service that it is for.
type Peer struct {
	// Name is the name of the peer in results and URLs.
	Name string
	// New returns a client for the service at base.
	New     func(base string) (Client, error)
	Service canned.Service
	// Sends is the request that Call makes.
	Sends Request
}

// Request is a POST request on the wire.
type Request struct{ Path, ContentType, Body string }

// count ranges over all rows.
func count[T any](all iter.Seq2[T, error]) (rows int, err error) {
	for _, err := range all {
		if err != nil {
			return rows, err
		}
		rows++
	}
	return rows, nil
}

const applicationJSON = "application/json"

// created returns a service that responds to a POST with a wrapped row, as most
// services do when they have created an object.
func created(format canned.Format, wrap func(row string) string) canned.Service {
	return canned.Service{Format: format, Response: wrap(format.Row(0)), Status: http.StatusCreated}
}
