// Package confirm shows what a command is about to do, and asks the operator.
package confirm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
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

// show writes the plan. Nobody can confirm one that could not be written.
func (p *Plan) show(printer *output.Printer, to io.Writer) error {
	text := printer.Bold(visible.Text(p.title)) + "\n"
	for _, line := range p.lines {
		text += visible.Text(fmt.Sprintf("  %-12s %s", line[0], strings.ReplaceAll(line[1], "\n", " "))) + "\n"
	}
	_, err := io.WriteString(to, text)
	return err
}

// digest identifies exactly what was planned: a service with its key, an operation, and its content.
func digest(s *profile.Service, operation string, content []byte) string {
	hash := sha256.New()
	for _, part := range []string{s.Identity(), s.Account, operation, string(content)} {
		_, _ = hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash does not fail
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Flags are the flags of a command that asks.
type Flags struct {
	DryRun bool
	Digest string
}

// Add adds the flags.
func (f *Flags) Add(cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&f.DryRun, "dry-run", false, "show the plan and print its digest; send nothing")
	set.StringVar(&f.Digest, "confirm", "", "skip the question if a dry run of the same request printed this `digest`")
	cmd.MarkFlagsMutuallyExclusive("dry-run", "confirm")
}

// Action is what the operator confirms. In JSON it is what --dry-run prints.
type Action struct {
	Digest     string `json:"digest"`
	Operation  string `json:"operation"`
	Profile    string `json:"profile"`
	Host       string `json:"host"`
	Recipients *int   `json:"recipients"` // nil if the number is not known
	Due        string `json:"due,omitempty"`

	// Question is what the operator is asked, such as "Send this email?".
	Question string `json:"-"`
	// Answer is what the operator has to type. "" asks for y or n.
	Answer string `json:"-"`
	// Refused is why it must not be done now, or nil. A dry run shows the plan regardless.
	Refused error `json:"-"`
	// Nothing reports that there is nothing to do, so that nobody has to confirm it.
	Nothing bool `json:"-"`
}

// NewAction returns the action with its digest. On a sandbox the operator answers y or n,
// elsewhere by typing answer.
func NewAction(s *profile.Service, operation string, content []byte, question, answer string) Action {
	if s.Kind == profile.Sandbox {
		answer = ""
	}
	return Action{Digest: digest(s, operation, content), Operation: operation, Profile: s.Name, Host: s.Host,
		Question: question, Answer: answer}
}

// Decide shows the plan, and returns whether to go on. It returns false without an error
// after a dry run. With --quiet, a plan that needs no other confirmation is not shown.
func (f *Flags) Decide(ctx context.Context, p *output.Printer, plan *Plan, a Action) (bool, error) {
	plan.Add("digest", a.Digest)
	confirmed := !f.DryRun && (a.Nothing || f.Digest == a.Digest)
	if !p.Quiet || !confirmed {
		if err := plan.show(p, p.Err); err != nil {
			return false, exit.With(exit.Usage, "nothing was sent: the plan could not be shown: %w", err)
		}
	}
	switch {
	case f.DryRun && p.IsJSON():
		return false, p.Object(a)
	case f.DryRun:
		return false, p.Text(a.Digest)
	case a.Refused != nil:
		return false, a.Refused
	case confirmed:
		return true, nil
	case f.Digest != "":
		return false, exit.With(exit.Usage, "not confirmed, nothing was sent: the plan above is not the one of --confirm; "+
			"compare it with that of the dry run, whose whole digest --confirm takes, and run --dry-run again")
	case checkTerminal() != nil:
		return false, exit.With(exit.Usage, "nobody can confirm this, because there is no terminal; "+
			"run the command with --dry-run, and then with --confirm and the digest that it prints")
	}
	return true, ask(ctx, p, plan, a.Question, a.Answer)
}

// ask asks on the terminal. What was typed before the question does not count. If stderr is a
// file, the terminal shows the plan too.
func ask(ctx context.Context, p *output.Printer, plan *Plan, question, answer string) error {
	tty, err := openTerminal()
	if err != nil {
		return exit.With(exit.Usage, "cannot ask on the terminal: %w", err)
	}
	defer tty.Close()
	if _, shown := output.Terminal(p.Err); !shown {
		err = plan.show(p, tty)
	}
	prompt := question + " [y/N] "
	if answer != "" {
		prompt = fmt.Sprintf("%s Type %s to confirm: ", question, p.Bold(answer))
	}
	if err == nil {
		err = tty.flush()
	}
	if err == nil {
		_, err = fmt.Fprint(tty, prompt)
	}
	if err != nil {
		return exit.With(exit.Usage, "nothing was sent: cannot ask on the terminal: %w", err)
	}
	typed := strings.TrimSpace(tty.readLine(ctx))
	switch {
	case ctx.Err() != nil:
		_, _ = fmt.Fprintln(tty) // there is nowhere else to report it
		return exit.With(exit.Interrupted, "interrupted; nothing was sent")
	case answer != "" && typed == answer, answer == "" && isYes(typed):
		return nil
	}
	return exit.With(exit.Usage, "not confirmed; nothing was sent")
}

func isYes(text string) bool { return strings.EqualFold(text, "y") || strings.EqualFold(text, "yes") }

// Expect is the flag with which a script confirms a decision about entries: it knows how many there are.
type Expect struct {
	count int
	set   *pflag.FlagSet
}

// Add adds the flag.
func (e *Expect) Add(set *pflag.FlagSet) {
	e.set = set
	set.IntVar(&e.count, "expect", 0, "do not ask, and change nothing unless there are `n` entries")
}

// Decide shows the plan, and returns an error unless the operator agrees on the terminal, or --expect is the number of
// entries.
func (e *Expect) Decide(ctx context.Context, p *output.Printer, plan *Plan, count int, question string, typed bool) error {
	if err := plan.show(p, p.Err); err != nil {
		return exit.With(exit.Usage, "nothing was changed: the plan could not be shown: %w", err)
	}
	if e.set.Changed("expect") {
		if e.count != count {
			return exit.With(exit.Usage, "nothing was changed: --expect is %d, but there are %d", e.count, count)
		}
		return nil
	}
	if checkTerminal() != nil {
		return exit.With(exit.Usage, "nothing was changed: %s, and no terminal to confirm it; in a script, pass --expect with the number "+
			"that you expect", words.Count(count, "entry"))
	}
	answer := ""
	if typed {
		answer = strconv.Itoa(count)
	}
	return ask(ctx, p, plan, question, answer)
}
