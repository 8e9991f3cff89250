// Package inspector serves the pages and the JSON API that show what the sandbox
// has recorded.
package inspector

import (
	"context"
	"embed"
	"errors"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

// Inspector is the handler of the pages and of the API.
type Inspector struct {
	box *sandbox.Sandbox
	url string
	// ending ends the streams and the waits, which a shutdown would wait for.
	ending context.Context
}

//go:embed static
var static embed.FS

// Server returns a server for the inspector on the listener's address. Its
// requests that wait end with ctx.
func Server(ctx context.Context, box *sandbox.Sandbox, address net.Addr, allowHosts []string) *http.Server {
	in := &Inspector{box: box, url: "http://" + address.String(), ending: ctx}
	return &http.Server{
		Handler:           CheckHost(address, allowHosts)(guard(in.routes())),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
}

func (in *Inspector) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /healthz": in.health,

		"GET /api/requests":        in.listRequests,
		"GET /api/requests/{n}":    in.getRequest,
		"GET /api/broadcasts":      in.listBroadcasts,
		"GET /api/broadcasts/{n}":  in.getBroadcast,
		"GET /api/triggers":        in.listTriggers,
		"GET /api/triggers/{n}":    in.getTrigger,
		"GET /api/customers":       in.listCustomers,
		"GET /api/customers/{n}":   in.getCustomer,
		"GET /api/events":          in.listEvents,
		"GET /api/events/{n}":      in.getEvent,
		"GET /api/messages":        in.listMessages,
		"GET /api/messages/{n}":    in.getMessage,
		"GET /api/wait":            in.wait,
		"GET /api/stream":          in.stream,
		"GET /api/dump":            in.dump,
		"POST /api/seed":           in.addSeed,
		"POST /api/reset":          in.reset,
		"GET /api/faults":          in.listFaults,
		"POST /api/faults":         in.addFault,
		"DELETE /api/faults/{id}":  in.removeFault,
		"POST /api/outage":         in.outage,
		"GET /preview/{n}":         in.preview,
		"GET /rows":                in.rows,
		"GET /{$}":                 in.entryPage("requests"),
		"GET /requests/{n}":        in.entryPage("requests"),
		"GET /broadcasts":          in.entryPage("broadcasts"),
		"GET /broadcasts/{n}":      in.entryPage("broadcasts"),
		"GET /triggers":            in.entryPage("triggers"),
		"GET /triggers/{n}":        in.entryPage("triggers"),
		"GET /customers":           in.customersPage,
		"GET /customers/{n}":       in.customersPage,
		"GET /events":              in.eventsPage,
		"GET /events/{n}":          in.eventsPage,
		"GET /messages":            in.messagesPage,
		"GET /messages/{n}":        in.messagesPage,
		"GET /faults":              in.faultsPage,
		"POST /faults":             in.postFault,
		"POST /faults/{id}/remove": in.postRemoveFault,
		"POST /outage":             in.postOutage,
		"POST /reset":              in.postReset,
		"GET /help":                in.helpPage,
	} {
		mux.Handle(pattern, handler)
	}
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { in.notFound(w, r) })
	return mux
}

// number returns the number in the path, or 0.
func number(r *http.Request) int {
	n, err := strconv.Atoi(r.PathValue("n"))
	if err != nil || n < 1 || r.PathValue("n") != strconv.Itoa(n) {
		return 0
	}
	return n
}

// limits of request bodies
const (
	maxControlBody = 1 << 20
	maxSeedBody    = 64 << 20
)

// bodyStatus returns the status for a body that can't be read.
func bodyStatus(err error) int {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
