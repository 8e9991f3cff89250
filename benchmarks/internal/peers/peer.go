// Package peers holds the clients that the SDK is measured against. Each walks a
// list in the wire format of its own service, the way its documentation shows,
// and makes one small call.
package peers

import (
	"context"
	"net/http"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
)

// Client is a client that is ready for use.
type Client interface {
	// Walk goes through the whole list, row by row, and counts the rows.
	Walk(ctx context.Context, perPage int) (rows int, err error)
	// Call makes one small call that changes something.
	Call(ctx context.Context) error
}

// Peer is a client and the service that it is for.
type Peer struct {
	// Name is what the peer goes by in results and URLs.
	Name string
	// New returns a client for the service at base.
	New     func(base string) (Client, error)
	Service canned.Service
	// Sends is the request that Call makes.
	Sends Request
}

// Request is a small request as it goes over the wire.
type Request struct{ Path, ContentType, Body string }

// All lists the peers.
func All() []Peer { return []Peer{Godo, GitLab, Hetzner, GitHub, Stripe, OpenAI} }

const applicationJSON = "application/json"

// created is what most services answer with after they have made something.
func created(format canned.Format, wrap func(row string) string) canned.Service {
	return canned.Service{Format: format, Answer: wrap(format.Row(0)), Status: http.StatusCreated}
}
