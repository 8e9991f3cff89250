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
	total int // 0 if it is not known
	began time.Time
	stop  func()

	mu     sync.Mutex
	counts Counts
}

// How often the progress is written to a terminal, and elsewhere.
const (
	refresh = 200 * time.Millisecond
	period  = 10 * time.Second
)

// NewProgress starts to show progress toward total, or toward no known end if total is 0.
// The caller must call Stop.
func (p *Printer) NewProgress(total int) *Progress {
	g := &Progress{total: total, began: time.Now(), stop: func() {}}
	show := func(form string) {
		if text := g.current(); text != "" {
			_, _ = fmt.Fprintf(p.Err, form, text) // there is nowhere else to report it
		}
	}
	switch {
	case p.Quiet:
	case p.errTTY:
		// The line is as wide as the terminal is now, so that it covers the one before.
		inPlace := func() string { return fmt.Sprintf("\r%%-%d.%[1]ds", terminalWidth(p.Err)-1) }
		stop := every(refresh, func() { show(inPlace()) })
		g.stop = func() { stop(); show(inPlace() + "\n") }
	default:
		g.stop = every(period, func() { show("%s\n") })
	}
	return g
}

// every calls do each period, until the function that it returns is called.
func every(period time.Duration, do func()) (stop func()) {
	ended, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				do()
			}
		}
	}()
	return sync.OnceFunc(func() { close(ended); <-finished })
}

// Set sets the counts.
func (g *Progress) Set(c Counts) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.counts = c
}

// Stop shows the last counts, and ends.
func (g *Progress) Stop() { g.stop() }

// current returns the progress in words, or "" before there is any.
func (g *Progress) current() string {
	g.mu.Lock()
	counts := g.counts
	g.mu.Unlock()
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
