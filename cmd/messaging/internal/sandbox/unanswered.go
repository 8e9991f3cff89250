package sandbox

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/messaging-go/messaging/internal/service"
)

// listedAfter is how long a request has to wait for its response until it is listed.
const listedAfter = time.Second

// Unanswered is a request that waits for its response. The history has a request only
// when it has ended.
type Unanswered struct {
	// Op is the operation, or "" if the path is that of none.
	Op      string
	Started time.Time
}

// waiting lists the requests that have waited for their response for listedAfter.
type waiting struct {
	changed func() // called after the list has changed

	mu   sync.Mutex
	list []*waitingRequest // in the order in which they were listed
}

type waitingRequest struct {
	Unanswered
	ended bool
}

// wrap returns a handler whose requests are listed while they wait.
func (w *waiting) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		request := &waitingRequest{Unanswered: Unanswered{Started: time.Now()}}
		if op, _ := service.Find(r.Method, r.URL.Path); op != nil {
			request.Op = op.Name
		}
		timer := time.AfterFunc(listedAfter, func() { w.add(request) })
		defer func() {
			if !timer.Stop() {
				w.remove(request)
			}
		}()
		next.ServeHTTP(rw, r)
	})
}

// add lists a request, unless it has ended since.
func (w *waiting) add(request *waitingRequest) {
	w.mu.Lock()
	if !request.ended {
		w.list = append(w.list, request)
	}
	w.mu.Unlock()
	w.changed()
}

func (w *waiting) remove(request *waitingRequest) {
	w.mu.Lock()
	request.ended = true
	w.list = slices.DeleteFunc(w.list, func(each *waitingRequest) bool { return each == request })
	w.mu.Unlock()
	w.changed()
}

// Unanswered returns the requests that have waited for their response for a second or
// longer.
func (b *Sandbox) Unanswered() (list []Unanswered) {
	b.waiting.mu.Lock()
	defer b.waiting.mu.Unlock()
	for _, request := range b.waiting.list {
		list = append(list, request.Unanswered)
	}
	return list
}
