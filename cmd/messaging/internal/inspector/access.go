package inspector

import (
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

// health responds to whoever waits for the sandbox to start. It shows nothing.
func (in *Inspector) health(w http.ResponseWriter, _ *http.Request) {
	respond(w, map[string]bool{"ok": true})
}

// accessBody is what a program needs to use the service, and what tells this sandbox from
// another. It has ports in place of addresses: a program reaches the service by the name
// by which it has reached the inspector.
type accessBody struct {
	APIKey  string `json:"api_key"`
	Port    string `json:"port"`
	StartID string `json:"start_id"`
	PID     int    `json:"pid"`
	Started string `json:"started"`
	Uptime  int64  `json:"uptime_ms"`
	Seed    string `json:"seed"`
}

func (in *Inspector) access(w http.ResponseWriter, _ *http.Request) {
	respond(w, accessBody{APIKey: in.box.APIKey(), Port: in.servicePort(), StartID: in.box.StartID, PID: os.Getpid(),
		Started: in.box.Started.UTC().Format(time.RFC3339), Uptime: time.Since(in.box.Started).Milliseconds(), Seed: in.box.SeedName})
}

func (in *Inspector) servicePort() string {
	_, port, _ := net.SplitHostPort(in.box.Addr())
	return port
}

// addresses returns the URLs of the service and of the inspector, with the name by which a
// request has reached the inspector.
func (in *Inspector) addresses(r *http.Request) (service, inspector string) {
	host := (&url.URL{Host: r.Host}).Hostname()
	return "http://" + net.JoinHostPort(host, in.servicePort()), "http://" + r.Host
}
