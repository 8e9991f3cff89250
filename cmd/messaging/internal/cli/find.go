package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// wantedSandbox is the sandbox that a program is to use. If the port of a new one is taken,
// an older one answers in its place, with other records.
type wantedSandbox struct {
	patience time.Duration // for one that is starting; 0 takes one that is there
	pid      int           // of its process, or 0
}

// foundSandbox is what a sandbox reports of itself.
type foundSandbox struct {
	Key     string    `json:"api_key"`
	Port    string    `json:"port"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Uptime  int64     `json:"uptime_ms"`
	Seed    string    `json:"seed"`
}

func (f foundSandbox) String() string {
	seed := "no seed"
	if f.Seed != "" {
		seed = "seed " + f.Seed
	}
	return fmt.Sprintf("process %d, started %s, %s", f.PID, f.Started.Local().Format("2006-01-02 15:04:05 MST"), seed)
}

// findSandbox returns the environment of the running sandbox, and writes which one it is
// to stderr.
func findSandbox(cmd *cobra.Command, remote *remote, wanted wantedSandbox) (environment, error) {
	base, err := remote.base()
	if err != nil {
		return environment{}, err
	}
	began := time.Now()
	found, err := await(cmd.Context(), remote, wanted)
	if err != nil {
		return environment{}, err
	}
	if err := wanted.check(base, found, time.Since(began)); err != nil {
		return environment{}, err
	}
	ui, err := url.Parse(base)
	if err != nil {
		return environment{}, exit.With(exit.Usage, "--ui: %q is not a URL", base)
	}
	cmd.PrintErrf("sandbox %s: %v\n", base, found)
	return environment{"http://" + net.JoinHostPort(ui.Hostname(), found.Port), found.Key, base}, nil
}

// await asks for the sandbox until there is one, patience ends, or the process that is to
// become one has ended.
func await(ctx context.Context, remote *remote, wanted wantedSandbox) (foundSandbox, error) {
	waiting, end := context.WithTimeout(ctx, wanted.patience)
	defer end()
	for {
		found, err := askSandbox(ctx, remote)
		switch {
		case err == nil || exit.CodeOf(err) != exit.NotDone:
			return found, err
		case hasEnded(wanted.pid):
			return found, exit.With(exit.NotDone, "process %d of --pid has ended, and is not a sandbox", wanted.pid)
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-waiting.Done():
			return found, err
		}
	}
}

// askSandbox asks a sandbox which one it is.
func askSandbox(ctx context.Context, remote *remote) (found foundSandbox, err error) {
	body, err := remote.call(ctx, http.MethodGet, "/api/access", nil)
	if err != nil {
		return found, err
	}
	if json.Unmarshal(body, &found) != nil || found.Port == "" {
		return found, exit.With(exit.NotDone, "the URL of --ui is not that of a sandbox")
	}
	return found, nil
}

// hasEnded reports whether a process is known to have ended.
func hasEnded(pid int) bool {
	if pid == 0 {
		return false
	}
	process, err := os.FindProcess(pid)
	return err == nil && errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

// check returns an error for a sandbox that is not the wanted one.
func (w wantedSandbox) check(base string, found foundSandbox, waited time.Duration) error {
	uptime := time.Duration(found.Uptime) * time.Millisecond
	switch {
	case w.pid != 0 && w.pid != found.PID:
		return exit.With(exit.NotDone, "the sandbox at %s is a different one (%v), not process %d; end it, or start yours on other ports",
			base, found, w.pid)
	case w.pid == 0 && w.patience > 0 && uptime > waited+w.patience:
		return exit.With(exit.NotDone, "the sandbox at %s is not starting: it is an older one (%v); end it, or leave out --wait to use it",
			base, found)
	}
	return nil
}

// holder returns which sandbox holds a port, as a remark for an error, or "".
func holder(uiPort, port int) string {
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	found, err := askSandbox(ctx, &remote{url: fmt.Sprintf("http://%s:%d", loopback, uiPort)})
	if err != nil || port != uiPort && found.Port != fmt.Sprint(port) {
		return ""
	}
	return fmt.Sprintf(" by another sandbox (%v)", found)
}
