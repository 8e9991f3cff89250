package confirm

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
)

// Flags are the flags of a command that asks.
type Flags struct {
	DryRun bool
	Digest string
}

// Add adds the flags.
func (f *Flags) Add(set *pflag.FlagSet) {
	set.BoolVar(&f.DryRun, "dry-run", false, "show the plan and print its digest; send nothing")
	set.StringVar(&f.Digest, "confirm", "", "skip the question if the plan still matches this `digest` of a dry run")
}

// Check returns an error if nobody can confirm: without a terminal there has to be --confirm
// or --dry-run. Call it before the first request.
func (f *Flags) Check() error {
	switch {
	case f.DryRun && f.Digest != "":
		return exit.With(exit.Usage, "--dry-run and --confirm exclude each other")
	case f.DryRun, f.Digest != "", checkTerminal() == nil:
		return nil
	}
	return exit.With(exit.Usage, "nobody can confirm this, because there is no terminal; "+
		"run the command with --dry-run, and then with --confirm and the digest that it prints")
}

// Action is what the operator confirms. In JSON it is what --dry-run prints.
type Action struct {
	Digest     string `json:"digest"`
	Operation  string `json:"operation"`
	Profile    string `json:"profile"`
	Host       string `json:"host"`
	Recipients *int   `json:"recipients"` // nil if the number is not known
	BodySHA256 string `json:"body_sha256,omitempty"`
	At         string `json:"at,omitempty"`

	// Question is what the operator is asked, such as "Send this email?".
	Question string `json:"-"`
	// Answer is what the operator has to type. "" asks for y or n.
	Answer string `json:"-"`
	// Refused is why it must not be done now, or nil. A dry run shows the plan regardless.
	Refused error `json:"-"`
}

// ActionFields are the names of the fields of an action in JSON.
var ActionFields = output.FieldsOf(Action{BodySHA256: "-", At: "-"})

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
// after a dry run.
func (f *Flags) Decide(ctx context.Context, p *output.Printer, plan *Plan, a Action) (bool, error) {
	plan.Add("digest", a.Digest)
	if err := plan.Show(p); err != nil {
		return false, exit.With(exit.Usage, "nothing was sent: the plan could not be shown: %w", err)
	}
	switch {
	case f.DryRun && p.IsJSON():
		return false, p.Object(a)
	case f.DryRun:
		return false, p.Text(a.Digest)
	case a.Refused != nil:
		return false, a.Refused
	case f.Digest != "" && f.Digest != a.Digest:
		return false, exit.With(exit.Usage, "not confirmed, nothing was sent: the plan above is not the one of --confirm; "+
			"compare it with that of the dry run, and run --dry-run again")
	case f.Digest != "":
		return true, nil
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
	if !isTerminal(p.Err) {
		shown := *p
		shown.Err = tty
		err = plan.Show(&shown)
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
