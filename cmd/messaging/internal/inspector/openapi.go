package inspector

import (
	"net/http"

	"github.com/messaging-go/messaging/cmd/messaging/internal/openapi"
)

const openAPIPath = "/openapi.json"

// openAPI responds with the description of the service for other languages and tools.
func (in *Inspector) openAPI(w http.ResponseWriter, r *http.Request) {
	service, _ := in.addresses(r)
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(openapi.Describe(service)) // the client may have disconnected
}
