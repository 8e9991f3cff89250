package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// comparison is that of a request with another one, by lines.
type comparison struct {
	Number   int
	With     int    // what was asked for, or 0
	Previous int    // what it is compared with, or 0
	Which    string // why it is that one, if nobody has asked for it
	Lines    []part // the class is "add", "del", "skip" or ""
	Alike    string // says that the requests do not differ, or only in how they are written
	TooLong  bool
}

// compare compares a request with another one, or else with the one that it repeats, or of which it may be a duplicate, or with
// the previous one like it.
func compare(store *history.Store, e *history.Entry, with int) comparison {
	view := comparison{Number: e.Number, With: with}
	other, which := other(store, e, with)
	if other == nil {
		return view
	}
	view.Previous, view.Which = other.Number, which
	for _, body := range [][]byte{e.Request.Body, other.Request.Body, e.ResponseBody, other.ResponseBody} {
		view.TooLong = view.TooLong || len(body) > maxShown
	}
	if view.TooLong {
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
	switch {
	case len(view.Lines) > 0:
	case bytes.Equal(e.Request.Body, other.Request.Body):
		view.Alike = "The requests are identical."
	default:
		view.Alike = "The bodies differ only in white space or in the order of keys."
	}
	return view
}

// other returns the request to compare with, and why it is that one.
func other(store *history.Store, e *history.Entry, with int) (other *history.Entry, which string) {
	for _, choice := range []struct {
		number int
		which  string
	}{{with, ""}, {e.ReplayOf, ", which it repeats"}, {e.DuplicateOf, ", of which it may be a duplicate"}} {
		if choice.number > 0 {
			other, _ = store.Get(choice.number)
			return other, choice.which
		}
	}
	for _, like := range []struct {
		which string
		is    func(*history.Entry) bool
	}{
		{", the previous one with the same title", func(o *history.Entry) bool { return o.Op == e.Op && title(o) == title(e) }},
		{", the previous one of the same operation", func(o *history.Entry) bool { return e.Op != "" && o.Op == e.Op }},
	} {
		if found, _ := store.Find(history.Query{}.And(like.is), e.Number, 1); len(found) > 0 {
			return found[0], like.which
		}
	}
	return nil, ""
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
	text := validText(body)
	_, isJSON := jsonLines(body, nil) // or it is too long or too deep
	if isJSON {
		var value any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		_ = decoder.Decode(&value) // it is valid
		var indented bytes.Buffer
		_ = json.Indent(&indented, encode(value), "", "  ")
		text = indented.String()
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		if isJSON {
			line = strings.ReplaceAll(strings.TrimRight(line, ",\n"), `\n`, "\n")
		}
		for _, part := range mail.Blocks(line) {
			if part = strings.TrimSpace(part); part != "" {
				b.WriteString(indent + visible.Prose(part) + "\n")
			}
		}
	}
	return b.String()
}
