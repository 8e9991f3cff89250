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
