package inspector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// note is a remark with the class of its color, and with a link if there is more to see.
type note struct {
	Class, Text string
	Href, More  string // a link and its text
	// Problems follow the text, each with a link to its line.
	Problems []linkedProblem
	// Left is how many others there are.
	Left int
}

// linkedProblem is a problem of a body, with the URL of its line.
type linkedProblem struct {
	problem
	Href string
}

// outcomeView is what package messaging reports to the caller.
type outcomeView struct {
	Heading  string
	Tag      tag
	Error    string
	WhatToDo string
}

// newOutcome follows the table "Was it sent?" of the documentation.
func newOutcome(e *history.Entry) outcomeView {
	if err := findings.Refusal(e); err != nil {
		return outcomeView{"The Go SDK would not have sent this", tag{"warn", messaging.DeliveryOf(err).String()}, err.Error(),
			"The service carried it out, because it came from another program, from Send or Do, or from a client without validation."}
	}
	v := outcome.Of(e.Exchange)
	view := outcomeView{Heading: "What the Go SDK returns, with default options", Tag: deliveryTag(v.Delivery.String())}
	if v.Err != nil {
		view.Error = v.Err.Error()
	}
	switch {
	case v.Err == nil:
		view.WhatToDo = "Nothing: it was carried out."
		if isRead(e) {
			view.WhatToDo = "Nothing: the list was read."
		}
	case v.Delivery == messaging.DeliveryAccepted:
		view.WhatToDo = "Nothing: it was carried out, although the response cannot be read."
	case v.Retryable && asksForLongWait(v.Err):
		view.WhatToDo = "Nothing was done. The client does not wait as long as the service asks for: try again after that time."
	case isRead(e) && v.Retryable:
		view.WhatToDo = "The client retries this by itself; the caller sees this error only if the last attempt fails."
	case v.Delivery == messaging.DeliveryUnknown && isRead(e):
		view.WhatToDo = "A read changes nothing: repeat it when the cause is gone."
	case v.Delivery == messaging.DeliveryUnknown:
		view.WhatToDo = "Check before you send it again: it may have been carried out. The client does not repeat it."
	case v.Retryable:
		view.WhatToDo = "Nothing was done. The client retries this by itself; the caller sees this error only if the last attempt fails."
	case errors.Is(v.Err, messaging.ErrValidation):
		view.WhatToDo = "Fix the request: nothing was done."
	case e.Op == "" && !e.ForeignKey && e.Key().Right():
		view.WhatToDo = "Check the method and the path: nothing was done."
	case errors.Is(v.Err, messaging.ErrUnauthorized), errors.Is(v.Err, messaging.ErrNotFound):
		view.WhatToDo = "Check the API key and the base URL: nothing was done."
	default:
		view.WhatToDo = "Nothing was done; see the error message."
	}
	return view
}

// maxRetryAfter is the longest wait before a retry, by default.
const maxRetryAfter = 30 * time.Second

// asksForLongWait reports whether the client returns the error without a retry.
func asksForLongWait(err error) bool {
	var rejected *messaging.APIError
	return errors.As(err, &rejected) && rejected.RetryAfter > maxRetryAfter
}

// notes are the remarks above the tabs.
func notes(d *entryDetail) (list []note) {
	list = append(list, faultNotes(d)...)
	return append(list, contentNotes(d)...)
}

// faultNotes are what a fault did to the request.
func faultNotes(d *entryDetail) (list []note) {
	add := func(class, text string) { list = append(list, note{Class: class, Text: text}) }
	refused := d.Kind == "" && !isRead(d.Entry)
	switch {
	case refused && (d.Fault == "answer_lost" || d.Fault == "malformed" || d.Fault == "slow"):
		add("unknown", "The request was refused, and nothing was done. A fault hid that from the caller.")
	case d.Fault == "answer_lost" && isRead(d.Entry):
		add("unknown", "A fault closed the connection before the response.")
	case d.Fault == "answer_lost":
		add("unknown", "A fault closed the connection after the request was carried out. The caller cannot tell.")
	case d.Fault == "slow" && d.Status == 0:
		add("unknown", "A fault delayed the request until the connection was closed. It was carried out.")
	case d.Fault == "malformed":
		add("unknown", "A fault replaced the response. The request was carried out.")
	case d.Fault == "slow":
		add("warn", "A fault delayed the response.")
	case d.Fault != "":
		add(outcomeTag(d.Entry).Class, "A fault made this response. The request was not carried out.")
	}
	return list
}

// contentNotes are what is to be said of the content of the request.
func contentNotes(d *entryDetail) (list []note) {
	add := func(class, format string, args ...any) {
		list = append(list, note{Class: class, Text: fmt.Sprintf(format, args...)})
	}
	if text := refusalNote(d.Entry); text != "" {
		add("bad", "%s", text)
	}
	for _, n := range d.Entry.Notes() {
		duplicate, _ := d.DuplicateOf()
		switch n.Code {
		case "wrong_path", "sdk_refuses": // said elsewhere
		case "foreign_key", "key_header":
			add("bad", "%s", n.Text)
		case "duplicate":
			list = append(list, note{Class: "warn", Text: n.Text,
				Href: fmt.Sprintf("/requests/%d?tab=diff&with=%d", d.Number, duplicate), More: "Compare them"})
		case "email_check":
			list = append(list, note{Class: "warn", Text: n.Text, Href: d.path + "?tab=check", More: "Show the check"})
		default:
			add("warn", "%s", n.Text)
		}
	}
	if later, ok := d.in.box.History.Get(d.Duplicate()); ok {
		list = append(list, sentAgainNote(later))
	}
	if d.Status == http.StatusInsufficientStorage && d.Fault == "" {
		add("bad", "This is a limit of the sandbox, not of the real service: --max-records raises it, and a reset makes room.")
	}
	if d.ReplayOf > 0 {
		list = append(list, d.replayNote())
	}
	if len(d.Problems) > 0 {
		list = append(list, problemsNote(d))
	}
	return list
}

// refusalNote says why a request was refused, if neither its problems nor its key do.
func refusalNote(e *history.Entry) string {
	switch {
	case e.Fault != "" || e.Status < 400 || lacksKey(e) || e.ForeignKey || len(e.Problems) > 0:
		return ""
	case e.Op == "":
		if right := findings.RightOperation(e); right != "" {
			return "No operation has this method and path: " + right
		}
		return "No operation has this method and path; /openapi.json lists them."
	case e.Status != http.StatusBadRequest:
		return ""
	default:
		return capitalized(bodyProblem(e.Request.Body)) + "."
	}
}

// bodyProblem says why a body was refused as a whole.
func bodyProblem(body []byte) string {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return "the request has no body"
	case !utf8.Valid(body):
		return "the body is not text"
	case json.Valid(body):
		return "the body is JSON, but not an object"
	default:
		return "the body is not JSON"
	}
}

// sentAgainNote leads from a request to its duplicate, since both were carried out.
func sentAgainNote(later *history.Entry) note {
	_, after := later.DuplicateOf()
	return note{Class: "warn", Href: fmt.Sprintf("/requests/%d", later.Number), More: "Show it",
		Text: fmt.Sprintf("The same request was sent again %s later, as request %s.", took(after), words.Thousands(later.Number))}
}

// replayNote says what a replay repeats, and whether it was edited.
func (d *entryDetail) replayNote() note {
	how := ""
	if original, ok := d.in.box.History.Get(d.ReplayOf); ok && !isAlike(original, d.Entry) {
		how = ", edited"
	}
	return note{Text: fmt.Sprintf("This repeats request %s%s.", words.Thousands(d.ReplayOf), how),
		Href: fmt.Sprintf("%s?tab=diff&with=%d", d.path, d.ReplayOf), More: "Compare them"}
}

// problemsNote says what the problems of a request are, and leads to where they are marked in its body.
func problemsNote(d *entryDetail) note {
	n := note{Class: "bad", Text: words.Count(len(d.Problems), "problem") + " in the request: "}
	if isRead(d.Entry) {
		n.Text = words.Count(len(d.Problems), "problem") + " in the query: "
	}
	all := 0
	tab := d.path + queryString("q", d.query.Get("q"), "tab", "exchange")
	for _, line := range d.Request().Lines {
		for _, p := range line.Problems {
			if all++; all <= maxProblems {
				n.Problems = append(n.Problems, linkedProblem{p, tab + "#" + line.Anchor})
			}
		}
	}
	if all == 0 {
		n.Text += problemTexts(d.Problems) + "."
	}
	n.Left = all - len(n.Problems)
	return n
}

// problemTexts returns the first problems with their paths.
func problemTexts(problems map[string][]string) string {
	const most = 5
	paths := sortedKeys(problems)
	var list []string
	for _, path := range paths[:min(len(paths), most)] {
		list = append(list, path+" "+strings.Join(problems[path], " and "))
	}
	if more := len(paths) - most; more > 0 {
		list = append(list, fmt.Sprintf("%d more", more))
	}
	return strings.Join(list, "; ")
}
