package outbox

import (
	"errors"
	"sync"
	"time"
)

// hangPatience is how long after its deadline a request counts as one that does not return.
const hangPatience = time.Second

var errHangs = errors.New("a request does not return, although its context has ended")

// watch finds out whether a request does not return.
type watch struct {
	mu       sync.Mutex
	timer    *time.Timer
	late     bool // the deadline has passed
	hangs    bool
	returned bool
}

// newWatch calls onHang if the request has not returned within hangPatience after its deadline.
// That time begins anew at the deadline, because a process can have been paused until then.
func newWatch(deadline time.Time, onHang func()) *watch {
	w := new(watch)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.timer = time.AfterFunc(time.Until(deadline), func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch {
		case w.returned:
		case !w.late:
			w.late = true
			w.timer.Reset(hangPatience)
		default:
			w.hangs = true
			onHang()
		}
	})
	return w
}

// end notes that the request has returned. It reports whether onHang was called.
func (w *watch) end() (hung bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returned = true
	w.timer.Stop()
	return w.hangs
}
