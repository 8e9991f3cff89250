package output

import (
	"fmt"
	"sync"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Progress shows how far a long run is: in place on a terminal, else as a line every ten
// seconds.
type Progress struct {
	p     *Printer
	total int // 0 if it is not known
	began time.Time

	mu    sync.Mutex
	done  int
	more  string
	shown time.Time
}

// How often the progress is written to a terminal, and elsewhere.
const (
	refresh = 200 * time.Millisecond
	period  = 10 * time.Second
)

// NewProgress starts to show progress toward total, or toward no known end if total is 0.
// The caller must call Stop.
func (p *Printer) NewProgress(total int) *Progress {
	return &Progress{p: p, total: total, began: time.Now(), shown: time.Now()}
}

// Set sets how many are done, and what more there is to say, and shows it now and then.
func (g *Progress) Set(done int, more string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.done, g.more = done, more
	if age := time.Since(g.shown); age >= period || g.p.errTTY && age >= refresh {
		g.show("")
	}
}

// Stop shows the last state on a terminal, once.
func (g *Progress) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.p.errTTY {
		g.show("\n")
	}
	g.done = 0
}

func (g *Progress) show(end string) {
	if g.p.Quiet || g.done == 0 {
		return
	}
	g.shown = time.Now()
	text := g.current()
	if g.p.errTTY { // as wide as the terminal is now, so that it covers the line before
		width := terminalWidth(g.p.Err) - 1
		text = fmt.Sprintf("\r%-*.*s", width, width, text)
	} else {
		end = "\n"
	}
	_, _ = fmt.Fprint(g.p.Err, text+end) // there is nowhere else to report it
}

// current returns the progress in words.
func (g *Progress) current() string {
	text := words.Thousands(g.done)
	if g.total > 0 {
		text += "/" + words.Thousands(g.total)
	}
	rate := float64(g.done) / time.Since(g.began).Seconds()
	text += fmt.Sprintf(" · %.0f/s", rate)
	if left := g.total - g.done; left > 0 {
		eta := time.Duration(float64(left) / rate * float64(time.Second))
		text += " · ETA " + eta.Round(time.Second).String()
	}
	if g.more != "" {
		text += " · " + g.more
	}
	return text
}
