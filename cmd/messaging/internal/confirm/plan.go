// Package confirm shows what a command is about to do, and asks the operator.
package confirm

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// Plan is what a command is about to do, for people.
type Plan struct {
	title    string
	lines    [][2]string
	warnings []string
	allow    []string // the flags that allow what is in doubt
}

// NewPlan returns a plan that begins with the service.
func NewPlan(title string, s *profile.Service) *Plan {
	plan := &Plan{title: title}
	plan.Add("profile", s.Title())
	plan.Add("host", s.Place())
	if s.Account != "" {
		plan.Add("key", "fingerprint "+s.Account+", from "+s.KeySource)
	}
	return plan
}

// NewOfflinePlan returns a plan of a command that calls no service.
func NewOfflinePlan(title string) *Plan { return &Plan{title: title} }

// Add adds a line.
func (p *Plan) Add(name, text string) { p.lines = append(p.lines, [2]string{name, text}) }

// Warn adds a warning, which comes after the lines.
func (p *Plan) Warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

// Doubt adds a warning that only a person can override: the digest of a dry run does not
// confirm the plan, since a script does not read. The flag allow turns it into a warning.
func (p *Plan) Doubt(allow, format string, args ...any) {
	if !slices.Contains(p.allow, allow) {
		p.allow = append(p.allow, allow)
	}
	p.Warn(format, args...)
}

// Show writes the plan to stderr, even with --quiet. Nobody can confirm a plan that could not
// be written.
func (p *Plan) Show(printer *output.Printer) error {
	shown := &checked{w: printer.Err}
	to := *printer
	to.Err = shown
	to.Title(p.title)
	for _, line := range p.lines {
		to.Item(line[0], strings.ReplaceAll(line[1], "\n", " "))
	}
	for _, warning := range p.warnings {
		to.Warn("%s", warning)
	}
	return shown.err
}

// checked remembers the first error of a writer.
type checked struct {
	w   io.Writer
	err error
}

func (c *checked) Write(p []byte) (n int, err error) {
	if n, err = c.w.Write(p); c.err == nil {
		c.err = err
	}
	return n, err
}

// Digest identifies exactly what was planned: a service, an operation, and what it is to do.
// It changes with the profile, the URL, the key, the start of a sandbox and every byte of
// content.
func Digest(s *profile.Service, operation string, content []byte) string {
	hash := sha256.New()
	for _, part := range []string{s.Name, s.BaseURL, s.StartID, s.Account, operation, string(content)} {
		_, _ = hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash does not fail
	}
	return hex.EncodeToString(hash.Sum(nil))
}
