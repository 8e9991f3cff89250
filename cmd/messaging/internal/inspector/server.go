package inspector

import (
	"context"
	"embed"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

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
	return !slices.ContainsFunc([]string{"/healthz", "/openapi.json", "/rows", "/api/", "/preview/", "/static/", "/download/"},
		func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// limits of request bodies
const (
	maxControlBody = 1 << 20
	maxSeedBody    = 64 << 20
)

func limitBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		limit := int64(maxControlBody)
		if r.URL.Path == "/api/seed" {
			limit = maxSeedBody
		}
		r.Body = http.MaxBytesReader(w, r.Body, limit)
		next.ServeHTTP(w, r)
	})
}

func (in *Inspector) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, answer := range map[string]answer{
		"GET /healthz":            in.health,
		"GET /api/access":         in.access,
		"POST /api/mark":          in.mark,
		"POST /api/replay":        in.replay,
		"GET /api/requests":       listEntries(in, isAny, newRequestItem),
		"GET /api/requests/{n}":   getEntry(in, isAny, newRequestDetail),
		"GET /api/broadcasts":     listEntries(in, isBroadcast, newBroadcastItem),
		"GET /api/broadcasts/{n}": getEntry(in, isBroadcast, newBroadcastItem),
		"GET /api/triggers":       listEntries(in, isTrigger, newTriggerItem),
		"GET /api/triggers/{n}":   getEntry(in, isTrigger, newTriggerItem),
		"GET /api/dump":           in.dump,
		"POST /api/seed":          in.addSeed,
		"POST /api/reset":         in.reset,
		"GET /api/faults":         in.listFaults,
		"POST /api/faults":        in.addFault,
		"DELETE /api/faults/{id}": in.removeFault,
		"POST /api/outage":        in.outage,
	} {
		mux.Handle(pattern, answer)
	}
	for pattern, page := range map[string]page{
		"GET /{$}":                 in.requestPage,
		"GET /requests/{n}":        in.requestPage,
		"GET /faults":              in.faultsPage,
		"GET /help":                in.helpPage,
		"POST /faults":             in.postFault,
		"POST /faults/{id}/remove": in.postRemoveFault,
		"POST /outage":             in.postOutage,
	} {
		mux.Handle(pattern, in.show(page))
	}
	for _, kind := range records.Kinds {
		mux.Handle("GET /api/"+kind.Name, in.listRecords(kind))
		mux.Handle("GET /api/"+kind.Name+"/{n}", in.getRecord(kind))
		mux.Handle("GET /"+kind.Name, in.show(in.recordPage(kind)))
		mux.Handle("GET /"+kind.Name+"/{n}", in.show(in.recordPage(kind)))
	}
	for pattern, handler := range map[string]http.HandlerFunc{
		"GET /openapi.json":          in.openAPI,
		"GET /api/requests/{n}/body": in.body,
		"GET /api/wait":              in.wait,
		"GET /api/stream":            in.stream,
		"GET /rows":                  in.rows,
		"GET /preview/{n}":           in.preview,
		"GET /download/{file}":       in.download,
		"POST /replay":               in.postReplay,
		"POST /reset":                in.postReset,
	} {
		mux.Handle(pattern, handler)
	}
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.Handle("/", in.show(in.notFound))
	return mux
}
