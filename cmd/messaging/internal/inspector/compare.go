package inspector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// isAlike reports whether two requests differ in nothing but white space and the order of keys.
func isAlike(a, b *history.Entry) bool {
	if max(len(a.Request.Body), len(b.Request.Body)) > maxShown {
		return bytes.Equal(a.Request.Body, b.Request.Body)
	}
	return slices.Equal(contentLines(a), contentLines(b))
}

// diffView is the comparison of a request with another one.
type diffView struct {
	With     int    // what was asked for, or 0
	Previous int    // what it is compared with, or 0
	Which    string // why it is that one, if nobody has asked for it
	Parts    []diffPart
	Alike    string     // says that the queries and the bodies do not differ, or only in how they are written
	Sorted   bool       // whether the keys are sorted, because one of the bodies is JSON
	Response []diffPart // of both, if they are not the same
	TooLong  bool
	Others   []otherRequest
}

// otherRequest is a request to compare with.
type otherRequest struct {
	Number int
	Title  string
}

// maxOthers is how many requests a page offers for a comparison. Others can be named by
// their number.
const maxOthers = 50

// newDiff compares a request with another one, or else with the one that it repeats, or of which it may be a duplicate, or with
// the previous one that has the most in common.
func (in *Inspector) newDiff(e *history.Entry, with int) *diffView {
	view := &diffView{With: with, Others: in.others(e)}
	other, ok := in.box.History.Get(with)
	switch {
	case with == 0 && e.ReplayOf > 0:
		other, ok = in.box.History.Get(e.ReplayOf)
		view.Which = ", which it repeats"
	case with == 0:
		if duplicate, _ := e.DuplicateOf(); duplicate > 0 {
			other, ok = in.box.History.Get(duplicate)
			view.Which = ", of which it may be a duplicate"
			break
		}
		other, view.Which, ok = in.previous(e)
	}
	if !ok {
		return view
	}
	view.Previous = other.Number
	if !bytes.Equal(e.ResponseBody, other.ResponseBody) && max(len(e.ResponseBody), len(other.ResponseBody)) <= maxShown {
		if lines, ok := diff(bodyLines(other.ResponseBody), bodyLines(e.ResponseBody)); ok {
			view.Response = fold(lines)
		}
	}
	if len(e.Request.Body) > maxShown || len(other.Request.Body) > maxShown {
		view.TooLong = true
		return view
	}
	lines, ok := diff(requestLines(other), requestLines(e))
	if !ok {
		view.TooLong = true
		return view
	}
	view.Parts, view.Sorted = fold(lines), json.Valid(e.Request.Body) || json.Valid(other.Request.Body)
	if !slices.ContainsFunc(lines, func(l diffLine) bool { return l.Sign != " " }) {
		view.Alike = alike(other, e)
	}
	return view
}

// alike says that two requests do not differ, or only in how their bodies are written.
func alike(a, b *history.Entry) string {
	if !bytes.Equal(a.Request.Body, b.Request.Body) {
		return "The bodies differ only in white space or in the order of keys."
	}
	return "The requests are identical."
}

// others returns the latest requests but one.
func (in *Inspector) others(e *history.Entry) (list []otherRequest) {
	var all history.Query
	found, _ := in.box.History.Find(all.And(func(other *history.Entry) bool { return other != e }), 0, maxOthers)
	for _, other := range found {
		list = append(list, otherRequest{other.Number, fmt.Sprintf("%s, %s, %s", title(other), outcomeTag(other).Text, words.Time(other.At))})
	}
	return list
}

// previous returns the previous request that has the most in common with one, and says what.
func (in *Inspector) previous(e *history.Entry) (other *history.Entry, which string, ok bool) {
	var all history.Query
	for _, l := range likenesses(e) {
		if found, _ := in.box.History.Find(all.And(l.has), e.Number, 1); len(found) > 0 {
			return found[0], ", the previous request " + l.which, true
		}
	}
	return nil, "", false
}

// likeness is what other requests have in common with one.
type likeness struct {
	which string
	has   func(*history.Entry) bool
}

// likenesses are what an earlier request can have in common with one, the most first.
func likenesses(e *history.Entry) (list []likeness) {
	sameOp := func(other *history.Entry) bool {
		return other.Op == e.Op && other.Request.Path == e.Request.Path && other.Request.Method == e.Request.Method
	}
	add := func(which, value string, of func(*history.Entry) string) {
		if value != "" {
			list = append(list, likeness{which, func(other *history.Entry) bool { return sameOp(other) && of(other) == value }})
		}
	}
	switch e.Op {
	case service.TriggerEvent.Name:
		add("for the same customer and event", customerAndEvent(e), customerAndEvent)
		add("of the same event", eventID(e), eventID)
	case service.CreateEvent.Name:
		add("with the same name", eventName(e), eventName)
	default:
		add("with the same subject", e.Subject, func(e *history.Entry) string { return e.Subject })
	}
	if e.Op == "" {
		return append(list, likeness{"to the same path", sameOp})
	}
	return append(list, likeness{"of the same operation", sameOp})
}

func eventID(e *history.Entry) string {
	return e.EventID
}

func eventName(e *history.Entry) string {
	return e.EventName
}

// customerAndEvent returns the customer and the event of a trigger, or "" if one of them is missing.
func customerAndEvent(e *history.Entry) string {
	if !requestsTrigger(e) || len(e.Names) == 0 || e.EventID == "" {
		return ""
	}
	return e.Names[0] + "\x00" + e.EventID
}

// requestLines returns a request as lines: how it was sent, what it came to, its query and its body.
func requestLines(e *history.Entry) []string {
	lines := []string{e.Request.Method + " " + e.Request.Path, "API key: " + keyInWords(e.Key()), "Outcome: " + outcomeTag(e).Text}
	return append(lines, contentLines(e)...)
}

// contentLines returns the query and the body of a request as lines.
func contentLines(e *history.Entry) (lines []string) {
	for _, name := range sortedKeys(e.Request.Query) {
		lines = append(lines, name+" = "+strings.Join(e.Request.Query[name], ", "))
	}
	return append(lines, bodyLines(e.Request.Body)...)
}

// keyInWords says how a request was sent with its key. It shows nothing of the key.
func keyInWords(k history.Key) string {
	switch {
	case k.Header == "" && k.Empty:
		return "empty"
	case k.Header == "":
		return "none"
	case k.Prefixed:
		return `"Bearer " before it`
	case k.Foreign:
		return "not that of this sandbox"
	case k.Right():
		return "that of this sandbox"
	default:
		return "in " + k.Header
	}
}

func bodyLines(body []byte) []string {
	return readableLines(strings.ToValidUTF8(string(body), string(utf8.RuneError)))
}
