package inspector

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/view"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// maxCompared is how many requests are compared with a search, the latest first.
const maxCompared = 1000

// missed says what came instead of what a wait was for: how many requests, and the one that lacks the fewest terms of those
// that did not match, the latest of several. Where the tests run, it is often all that a developer sees.
func (in *Inspector) missed(p waitParams, matched int) error {
	entries, complete := in.box.History.After(p.after)
	entries = slices.DeleteFunc(entries, func(e *history.Entry) bool { return !p.query.Searches(e) })
	var nearest *history.Entry
	var lacks []string
	for _, e := range slices.Backward(entries[max(0, len(entries)-maxCompared):]) {
		if differs := p.query.Differs(e); len(differs) > 0 && (nearest == nil || len(differs) < len(lacks)) {
			nearest, lacks = e, differs
		}
	}
	came := "none"
	if len(entries) > 0 {
		came = words.Thousands(len(entries))
	}
	text := fmt.Sprintf("%s matched in %v; %s came since %s", wantedOf(p, matched), p.timeout, came, p.since)
	if !complete {
		text += ", and older ones that are no longer kept (--keep)"
	}
	if nearest != nil {
		which := "nearest"
		if matched > 0 {
			which = "nearest of the others"
		}
		text += fmt.Sprintf("; %s: %s, which does not match %s", which, describeItem(nearest), words.List(lacks, "or"))
	}
	return failure{http.StatusRequestTimeout, errors.New(text)}
}

func wantedOf(p waitParams, matched int) string {
	if !p.counted {
		return "no request"
	}
	if matched == 0 {
		return fmt.Sprintf("no request (of %d)", p.count)
	}
	return fmt.Sprintf("%d of %s", matched, words.Count(p.count, "request"))
}

// describeItem returns a request in a line, such as: request 41, trigger event to ada@example.com, 422 rejected.
func describeItem(e *history.Entry) string {
	const longest = 60
	what := e.Op
	if what == "" {
		what = e.Request.Method + " " + visible.Prose(words.Shortened(e.Request.Path, longest))
	}
	if subject := e.Subject; subject != "" {
		what += " " + visible.Quote(words.Shortened(subject, longest))
	}
	if len(e.Names) > 0 {
		what += " to " + visible.Prose(words.Shortened(e.Names[0], longest))
		if e.Named > 1 {
			what += fmt.Sprintf(" and %s more", words.Thousands(e.Named-1))
		}
	}
	return fmt.Sprintf("request %d, %s, %s", e.Number, what, view.OutcomeTag(e).Text)
}
