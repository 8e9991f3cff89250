// Package inspector serves the pages and the JSON API that show what the sandbox
// has recorded.
package inspector

import (
	"context"
	"embed"
	"errors"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

// Inspector is the handler of the pages and of the API.
type Inspector struct {
	box *sandbox.Sandbox
	// ending ends before a shutdown, which would wait for the streams and the waits.
	ending context.Context
}

//go:embed static
var static embed.FS

// Config configures the server of an inspector.
type Config struct {
	Box *sandbox.Sandbox
	// Address is that of the listener.
	Address net.Addr
	// AllowHosts are host names beside those of the loopback address.
	AllowHosts []string
	// Token admits to the inspector. If it is "", everybody is admitted.
	Token string
}

// Server returns a server for an inspector. Streams and waits end with ctx.
func Server(ctx context.Context, cfg Config) *http.Server {
	in := &Inspector{box: cfg.Box, ending: ctx}
	return &http.Server{
		Handler: guard.Pages(guard.Config{Address: cfg.Address, AllowHosts: cfg.AllowHosts, Token: cfg.Token, IsPage: isPage},
			limitBodies(in.routes())),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
}

// isPage reports whether a path is that of a page.
func isPage(path string) bool {
	return path != "/healthz" && path != "/rows" && path != openAPIPath &&
		!slices.ContainsFunc([]string{"/api/", "/preview/", "/static/", "/download/"}, func(prefix string) bool {
			return strings.HasPrefix(path, prefix)
		})
}

// limitBodies returns a handler that reads no large bodies. A seed has its own limit.
func limitBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/seed" {
			r.Body = http.MaxBytesReader(w, r.Body, maxControlBody)
		}
		next.ServeHTTP(w, r)
	})
}

func (in *Inspector) routes() http.Handler {
	mux := http.NewServeMux()
	for _, routes := range []map[string]http.HandlerFunc{in.apiRoutes(), in.pageRoutes()} {
		for pattern, handler := range routes {
			mux.Handle(pattern, handler)
		}
	}
	for _, kind := range records.Kinds {
		mux.Handle("GET /api/"+kind.Name, in.listRecords(kind))
		mux.Handle("GET /api/"+kind.Name+"/{n}", in.getRecord(kind))
		mux.Handle("GET /"+kind.Name, in.recordPage(kind))
		mux.Handle("GET /"+kind.Name+"/{n}", in.recordPage(kind))
	}
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.HandleFunc("/", in.notFound)
	return mux
}

func (in *Inspector) apiRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /healthz":               in.health,
		"GET " + openAPIPath:         in.openAPI,
		"GET /api/access":            in.access,
		"POST /api/mark":             in.mark,
		"POST /api/replay":           in.replay,
		"GET /api/requests":          listEntries(in, isAny, newRequestItem),
		"GET /api/requests/{n}":      getEntry(in, isAny, in.newRequestDetail),
		"GET /api/requests/{n}/body": in.body,
		"GET /api/broadcasts":        listEntries(in, isBroadcast, newBroadcastItem),
		"GET /api/broadcasts/{n}":    getEntry(in, isBroadcast, newBroadcastItem),
		"GET /api/triggers":          listEntries(in, isTrigger, newTriggerItem),
		"GET /api/triggers/{n}":      getEntry(in, isTrigger, newTriggerItem),
		"GET /api/wait":              in.wait,
		"GET /api/stream":            in.stream,
		"GET /api/dump":              in.dump,
		"POST /api/seed":             in.addSeed,
		"POST /api/reset":            in.reset,
		"GET /api/faults":            in.listFaults,
		"POST /api/faults":           in.addFault,
		"DELETE /api/faults/{id}":    in.removeFault,
		"POST /api/outage":           in.outage,
	}
}

func (in *Inspector) pageRoutes() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"GET /{$}":                 in.entryPage(requestList),
		"GET /requests/{n}":        in.entryPage(requestList),
		"GET /broadcasts":          in.entryPage(broadcastList),
		"GET /broadcasts/{n}":      in.entryPage(broadcastList),
		"GET /triggers":            in.entryPage(triggerList),
		"GET /triggers/{n}":        in.entryPage(triggerList),
		"GET /rows":                in.rows,
		"GET /preview/{n}":         in.preview,
		"GET /faults":              in.faultsPage,
		"POST /faults":             in.postFault,
		"POST /faults/{id}/remove": in.postRemoveFault,
		"POST /outage":             in.postOutage,
		"POST /replay":             in.postReplay,
		"GET /download/{file}":     in.download,
		"POST /reset":              in.postReset,
		"GET /help":                in.helpPage,
	}
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

// bodyStatus returns the status for a body that cannot be read.
func bodyStatus(err error) int {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return http.StatusRequestEntityTooLarge
	}
	return http.StatusBadRequest
}
