package output

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cheggaaa/pb/v3"

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

	mu     sync.Mutex
	counts Counts
	bar    *pb.ProgressBar // nil without a terminal
	stop   func()
}

// progressPeriod is how often a line is written without a terminal.
const progressPeriod = 10 * time.Second

// NewProgress starts to show progress toward total, or toward no known end if total is 0.
// The caller must call Stop.
func (p *Printer) NewProgress(total int) *Progress {
	g := &Progress{total: total, began: time.Now(), stop: func() {}}
	switch {
	case p.Quiet:
	case p.errTTY:
		g.bar = pb.ProgressBarTemplate(`{{string . "line"}}`).New(total)
		g.bar.SetWriter(p.Err)
		g.bar.Set("line", g.line())
		g.bar.Start()
		g.stop = func() {
			if g.counts.done() == 0 {
				g.bar.Set(pb.CleanOnFinish, true) // it has nothing to say
			}
			g.bar.Finish()
		}
	default:
		g.stop = g.writeLines(p)
	}
	return g
}

// writeLines writes a line each period, until the function that it returns is called.
func (g *Progress) writeLines(p *Printer) (stop func()) {
	ended, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		ticker := time.NewTicker(progressPeriod)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				p.Line("%s", g.current())
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
	if g.bar != nil {
		g.bar.Set("line", g.line())
	}
}

// Stop shows the last counts, and ends.
func (g *Progress) Stop() { g.stop() }

func (g *Progress) current() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.line()
}

// line returns the progress in words. The caller has locked g, or is the only one who has it.
func (g *Progress) line() string {
	done, passed := g.counts.done(), time.Since(g.began)
	parts := []string{words.Thousands(done)}
	if g.total > 0 {
		parts[0] += "/" + words.Thousands(g.total)
	}
	rate := float64(done) / passed.Seconds()
	parts = append(parts, fmt.Sprintf("%.0f/s", rate))
	if left := g.total - done; left > 0 && done > 0 {
		eta := time.Duration(float64(left) / rate * float64(time.Second))
		parts = append(parts, "ETA "+eta.Round(time.Second).String())
	}
	for _, each := range []struct {
		name string
		n    int
	}{{"ok", g.counts.OK}, {"failed", g.counts.Failed}, {"unknown", g.counts.Unknown}, {"skipped", g.counts.Skipped}} {
		if each.n > 0 {
			parts = append(parts, words.Thousands(each.n)+" "+each.name)
		}
	}
	return strings.Join(parts, " · ")
}
