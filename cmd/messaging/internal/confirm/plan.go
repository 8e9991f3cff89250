// Package confirm shows what a command is about to do, and asks the operator.
package confirm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// Plan is what a command is about to do, for people.
type Plan struct {
	title string
	lines [][2]string
}

// NewPlan returns a plan that begins with the service.
func NewPlan(title string, s *profile.Service) *Plan {
	plan := NewOfflinePlan(title)
	plan.Add("profile", s.Title())
	plan.Add("host", s.Host)
	if s.Kind != profile.Sandbox {
		plan.Add("key", "fingerprint "+s.Account+", from "+s.KeySource)
	}
	return plan
}

// NewOfflinePlan returns a plan of a command that calls no service.
func NewOfflinePlan(title string) *Plan { return &Plan{title: title} }

// Add adds a line, unless its text is empty.
func (p *Plan) Add(name, text string) {
	if text != "" {
		p.lines = append(p.lines, [2]string{name, text})
	}
}

// Show writes the plan to stderr, even with --quiet. Nobody can confirm a plan that could not
// be written.
func (p *Plan) Show(printer *output.Printer) error {
	var text bytes.Buffer
	to := *printer
	to.Err = &text
	to.Title(p.title)
	for _, line := range p.lines {
		to.Item(line[0], strings.ReplaceAll(line[1], "\n", " "))
	}
	_, err := printer.Err.Write(text.Bytes())
	return err
}

// digest identifies exactly what was planned: a service with its key, an operation, and its content.
func digest(s *profile.Service, operation string, content []byte) string {
	hash := sha256.New()
	for _, part := range []string{s.Name, s.Identity(), s.Account, operation, string(content)} {
		_, _ = hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash does not fail
	}
	return hex.EncodeToString(hash.Sum(nil))
}
