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

// maxBody is the size of the largest body that is read, such as a seed.
const maxBody = 64 << 20

// Server returns a server for an inspector. Streams and waits end with ctx.
func Server(ctx context.Context, cfg Config) *http.Server {
	in := &Inspector{box: cfg.Box, ending: ctx}
	return &http.Server{
		Handler: http.MaxBytesHandler(guard.Pages(guard.Config{Address: cfg.Address, AllowHosts: cfg.AllowHosts, Token: cfg.Token,
			IsPage: isPage}, in.routes()), maxBody),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
}

// isPage reports whether a path is that of a page.
func isPage(path string) bool {
	return !slices.ContainsFunc([]string{"/healthz", "/openapi.json", "/rows", "/api/", "/preview/", "/static/"},
		func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

func (in *Inspector) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range map[string]http.Handler{
		"GET /healthz":               answer(in.health),
		"GET /openapi.json":          http.HandlerFunc(in.openAPI),
		"GET /api/access":            answer(in.access),
		"GET /api/stream":            http.HandlerFunc(in.stream),
		"GET /api/wait":              http.HandlerFunc(in.wait),
		"POST /api/mark":             answer(in.mark),
		"POST /api/replay":           answer(in.replay),
		"GET /api/requests":          listEntries(in, isAny, newRequestItem),
		"GET /api/requests/{n}":      getEntry(in, isAny, newRequestDetail),
		"GET /api/requests/{n}/body": http.HandlerFunc(in.body),
		"GET /api/broadcasts":        listEntries(in, isBroadcast, newBroadcastItem),
		"GET /api/broadcasts/{n}":    getEntry(in, isBroadcast, newBroadcastItem),
		"GET /api/triggers":          listEntries(in, isTrigger, newTriggerItem),
		"GET /api/triggers/{n}":      getEntry(in, isTrigger, newTriggerItem),
		"GET /api/dump":              answer(in.dump),
		"POST /api/seed":             answer(in.addSeed),
		"POST /api/reset":            answer(in.reset),
		"GET /api/faults":            answer(in.listFaults),
		"POST /api/faults":           answer(in.addFault),
		"DELETE /api/faults/{id}":    answer(in.removeFault),
		"POST /api/outage":           answer(in.outage),

		"GET /{$}":                 page(in.requestPage),
		"GET /requests/{n}":        page(in.requestPage),
		"GET /rows":                http.HandlerFunc(in.rows),
		"GET /preview/{n}":         http.HandlerFunc(in.preview),
		"GET /faults":              page(in.faultsPage),
		"GET /help":                page(in.helpPage),
		"POST /faults":             form(in.postFault),
		"POST /faults/{id}/remove": form(in.postRemoveFault),
		"POST /outage":             form(in.postOutage),
		"POST /replay":             form(in.postReplay),
		"POST /reset":              form(in.postReset),
		"GET /static/":             http.FileServerFS(static),
		"/":                        page(in.notFound),
	} {
		mux.Handle(pattern, handler)
	}
	for _, kind := range records.Kinds {
		mux.Handle("GET /api/"+kind.Name, in.listRecords(kind))
		mux.Handle("GET /api/"+kind.Name+"/{n}", in.getRecord(kind))
		mux.Handle("GET /"+kind.Name, in.recordPage(kind))
		mux.Handle("GET /"+kind.Name+"/{n}", in.recordPage(kind))
	}
	return mux
}
