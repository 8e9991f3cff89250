package confirm

import (
	"context"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/output"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

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
	if err := plan.Show(p); err != nil {
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
			"that you expect", words.Entries(count))
	}
	answer := ""
	if typed {
		answer = strconv.Itoa(count)
	}
	return ask(ctx, p, plan, question, answer)
}
