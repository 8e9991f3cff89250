package guard

import (
	"encoding/json"
	"net/http"
)

const (
	pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-src 'self'; " +
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	// previewPolicy allows the styles of an email, and nothing that has to be fetched.
	previewPolicy = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; font-src data:; base-uri 'none'; " +
		"form-action 'none'; frame-ancestors 'self'"
)

// LockPreview sets the policy of an email, and reports whether the request comes from the
// frame of its page: if it was opened directly, a click on a link would leave the machine.
func LockPreview(w http.ResponseWriter, r *http.Request) bool {
	setPolicy(w.Header(), previewPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	return r.Header.Get("Sec-Fetch-Dest") == "iframe"
}

func setPolicy(h http.Header, policy string) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, the Origin of a form would be null
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("X-DNS-Prefetch-Control", "off")
	h.Set("Cache-Control", "no-store")
}

// Refuse responds with an error as JSON.
func Refuse(w http.ResponseWriter, status int, message string) {
	setPolicy(w.Header(), pagePolicy)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)                            // for people who read the response in a terminal
	_ = encoder.Encode(map[string]string{"error": message}) // the client may have disconnected
}
