package view

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// comparison is that of a request with another one, by lines.
type comparison struct {
	Number   int
	With     int    // what was asked for, or 0
	Previous int    // what it is compared with, or 0
	Lines    []part // the class is "add", "del", "skip" or ""
	TooLong  bool
}

// compare compares a request with another one, or else with the one that it repeats, or of which it may be a duplicate, or with
// the previous one like it.
func compare(store *history.Store, e *history.Entry, with int) comparison {
	view := comparison{Number: e.Number, With: with}
	other := other(store, e, with)
	if other == nil {
		return view
	}
	view.Previous = other.Number
	longest := max(len(e.Request.Body), len(other.Request.Body), len(e.ResponseBody), len(other.ResponseBody))
	if view.TooLong = longest > maxShown; view.TooLong {
		return view
	}
	unified := string(diff.Diff("", []byte(exchangeText(other)), "", []byte(exchangeText(e))))
	_, changes, _ := strings.Cut(unified, "+++ \n")
	for line := range strings.Lines(changes) {
		switch {
		case line[0] != '@':
			view.Lines = append(view.Lines, part{map[byte]string{'+': "add", '-': "del"}[line[0]], strings.TrimSuffix(line[1:], "\n")})
		case len(view.Lines) > 0: // lines that both have are left out
			view.Lines = append(view.Lines, part{"skip", ""})
		}
	}
	return view
}

// other returns the request to compare with, or nil.
func other(store *history.Store, e *history.Entry, with int) *history.Entry {
	if number := cmp.Or(with, e.ReplayOf, e.DuplicateOf); number > 0 {
		other, _ := store.Get(number)
		return other
	}
	isLike := func(o *history.Entry) bool { return o.Op == e.Op && e.Op != "" }
	if found, _ := store.Find(history.Query{}.And(isLike), e.Number, 1); len(found) > 0 {
		return found[0]
	}
	return nil
}

// exchangeText returns a request as text: how it was sent, what it came to, its query and its body, and its response.
func exchangeText(e *history.Entry) string {
	return fmt.Sprintf("%s %s\nAPI key: %s\nOutcome: %s\n%s\nResponse\n%s", e.Request.Method, e.Request.Path, e.Key(),
		OutcomeTag(e).Text, requestText(e), bodyText(e.ResponseBody))
}

// requestText returns the query and the body of a request.
func requestText(e *history.Entry) string {
	var b strings.Builder
	for _, name := range sortedKeys(e.Request.Query) {
		fmt.Fprintf(&b, "%s = %s\n", name, strings.Join(e.Request.Query[name], ", "))
	}
	return b.String() + bodyText(e.Request.Body)
}

// bodyText returns a body as lines that people can compare, in which every character can be seen. In JSON, the keys are
// sorted, since their order means nothing, there are no commas, so that a new last member changes no other line, and a text
// of several lines is shown as lines.
func bodyText(body []byte) string {
	text, isJSON := validText(body), jsonLines(body, nil) != nil // or it is too long or too deep
	if isJSON {
		value, _ := strictjson.Value(body) // it is valid
		text = encode(value, "  ")
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if isJSON {
			line = strings.ReplaceAll(strings.TrimRight(line, ",\n"), `\n`, "\n")
		}
		for _, part := range mail.Lines(line) {
			b.WriteString(indent + visible.Prose(part) + "\n")
		}
	}
	return b.String()
}
