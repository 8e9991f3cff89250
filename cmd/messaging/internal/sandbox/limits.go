package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

const (
	maxBody     = fake.MaxBody // what the service reads
	maxInFlight = 64 << 20     // of all bodies that arrive at a time
	largeBody   = 1 << 20      // a body whose memory is given back to the system
)

// limits protect the memory of the sandbox. The real service does not have them, and
// their responses say so.
type limits struct {
	inFlight atomic.Int64
	stored   func() int64 // the bytes of the records
	maxBytes int64        // of the records

	mu      sync.Mutex
	release *time.Timer // gives memory back to the system; nil before the first large body
}

// wrap returns a handler that refuses what would exceed a limit.
func (l *limits) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if op, _ := service.Find(r.Method, r.URL.Path); op != nil && !op.IsRead() && l.stored() > l.maxBytes {
			refuse(w, http.StatusInsufficientStorage, "the records take more than --keep-bytes; reset the sandbox")
			return
		}
		reserved, err := l.reserve(w, r)
		defer func() { l.inFlight.Add(-reserved) }()
		if err != nil {
			w.Header().Set("Retry-After", "1")
			refuse(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		if reserved > largeBody {
			defer l.releaseLater()
		}
		next.ServeHTTP(w, r)
	})
}

// refuse responds in the form of the service.
func refuse(w http.ResponseWriter, status int, reason string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"success": false, // the client may have disconnected
		"message": reason + "; this is a limit of the sandbox, not of the real service"})
}

var errInFlight = fmt.Errorf("bodies of more than %d MiB arrive at a time", maxInFlight>>20)

// reserve reserves the memory of a body. It reads a body of unknown length.
func (l *limits) reserve(w http.ResponseWriter, r *http.Request) (reserved int64, err error) {
	switch {
	case r.ContentLength > maxBody:
		r.Body = http.MaxBytesReader(w, r.Body, 0) // the service refuses it, and none of it is read
		return 0, nil
	case r.ContentLength >= 0:
		return r.ContentLength, l.take(r.ContentLength)
	}
	var body bytes.Buffer
	for err == nil && body.Len() <= maxBody {
		const step = 64 << 10
		if err := l.take(step); err != nil {
			return reserved + step, err
		}
		reserved += step
		_, err = io.CopyN(&body, r.Body, step)
	}
	rest := r.Body
	switch {
	case errors.Is(err, io.EOF):
		rest = http.NoBody
	case err == nil: // too large
		rest = http.MaxBytesReader(w, r.Body, 0)
	}
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(&body, rest), r.Body}
	return reserved, nil
}

// take adds to what is in flight. The caller must subtract it again, also after an error.
func (l *limits) take(n int64) error {
	if l.inFlight.Add(n) > maxInFlight {
		return errInFlight
	}
	return nil
}

// releaseLater gives the memory of large bodies back to the system once none has arrived
// for a moment. Otherwise, an idle process keeps it for minutes.
func (l *limits) releaseLater() {
	const quiet = 3 * time.Second
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.release == nil {
		l.release = time.AfterFunc(quiet, debug.FreeOSMemory)
		return
	}
	l.release.Reset(quiet)
}

func (l *limits) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.release != nil {
		l.release.Stop()
	}
}
