package output

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Counts are what has become of the items of a long run.
type Counts struct{ OK, Failed, Unknown, Skipped int }

func (c Counts) done() int { return c.OK + c.Failed + c.Unknown + c.Skipped }

// Progress shows how far a long run is: in place on a terminal, else as a line every ten
// seconds.
type Progress struct {
	p     *Printer
	total int // 0 if it is not known
	began time.Time

	mu      sync.Mutex
	counts  Counts
	shown   time.Time
	stopped bool
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

// Set sets the counts, and shows them now and then.
func (g *Progress) Set(c Counts) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts = c
	if age := time.Since(g.shown); age >= period || g.p.errTTY && age >= refresh {
		g.show("")
	}
}

// Stop shows the last counts on a terminal, once.
func (g *Progress) Stop() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.p.errTTY && !g.stopped {
		g.show("\n")
	}
	g.stopped = true
}

func (g *Progress) show(end string) {
	text := g.current()
	if g.p.Quiet || text == "" {
		return
	}
	g.shown = time.Now()
	if g.p.errTTY { // as wide as the terminal is now, so that it covers the line before
		width := terminalWidth(g.p.Err) - 1
		text = fmt.Sprintf("\r%-*.*s", width, width, text)
	} else {
		end = "\n"
	}
	_, _ = fmt.Fprint(g.p.Err, text+end) // there is nowhere else to report it
}

// current returns the progress in words, or "" before there is any.
func (g *Progress) current() string {
	counts := g.counts
	done, passed := counts.done(), time.Since(g.began)
	if done == 0 {
		return ""
	}
	parts := []string{words.Thousands(done)}
	if g.total > 0 {
		parts[0] += "/" + words.Thousands(g.total)
	}
	rate := float64(done) / passed.Seconds()
	parts = append(parts, fmt.Sprintf("%.0f/s", rate))
	if left := g.total - done; left > 0 {
		eta := time.Duration(float64(left) / rate * float64(time.Second))
		parts = append(parts, "ETA "+eta.Round(time.Second).String())
	}
	for _, each := range []struct {
		name string
		n    int
	}{{"ok", counts.OK}, {"failed", counts.Failed}, {"unknown", counts.Unknown}, {"skipped", counts.Skipped}} {
		if each.n > 0 {
			parts = append(parts, words.Thousands(each.n)+" "+each.name)
		}
	}
	return strings.Join(parts, " · ")
}
