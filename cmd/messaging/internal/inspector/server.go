package inspector

import (
	"context"
	"embed"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

//go:embed static
var static embed.FS

// maxBody is the size of the largest body that is read, such as a seed.
const maxBody = 64 << 20

// Server returns a server for the inspector of a sandbox. Streams and waits end with ctx.
func Server(ctx context.Context, box *sandbox.Sandbox, protection guard.Config) *http.Server {
	in := &Inspector{box: box, ending: ctx}
	protection.IsPage = isPage
	return &http.Server{
		Handler:           http.MaxBytesHandler(guard.Pages(protection, in.routes()), maxBody),
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
}

// isPage reports whether a path is that of a page.
func isPage(path string) bool {
	return !slices.ContainsFunc([]string{"/healthz", "/openapi.json", "/rows", "/api/", "/preview/", "/static/"},
		func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}
