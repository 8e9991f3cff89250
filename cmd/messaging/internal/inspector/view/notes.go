package view

import (
	"fmt"
	"net/http"

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
}

// notesOf are the remarks above the tabs of a page.
func notesOf(e *history.Entry, exchangeTab string) (list []note) {
	add := func(class, text string) { list = append(list, note{Class: class, Text: text}) }
	if e.Fault != "" {
		add("unknown", faultNote(e))
	} else if reason := reason(e); reason != "" && (e.Op != "" || findings.RightOperation(e) == "") { // or a rule says it
		add("bad", capitalized(reason)+".")
	}
	for _, n := range e.Notes() {
		found := note{Class: ruleTag(n.Code).Class, Text: n.Text}
		switch n.Code {
		case "sdk_refuses": // the outcome says it
			continue
		case "duplicate":
			found.Href, found.More = pathOf(e.DuplicateOf), "Show it"
		}
		list = append(list, found)
	}
	if e.Status == http.StatusInsufficientStorage && e.Fault == "" {
		add("bad", "This is a limit of the sandbox, not of the real service: --max-records raises it, and a reset makes room.")
	}
	if e.ReplayOf > 0 {
		list = append(list, note{Text: "This repeats request " + words.Thousands(e.ReplayOf) + ".",
			Href: pathOf(e.ReplayOf), More: "Show it"})
	}
	if len(e.Problems) > 0 {
		list = append(list, note{"bad", words.Count(len(e.Problems), "problem") + ":", exchangeTab + "#at-" + sortedKeys(e.Problems)[0],
			firstProblem(e)})
	}
	return list
}

// faultNote says what a fault did to the response, and whether the request was carried out.
func faultNote(e *history.Entry) string {
	text, hides := map[string]string{"answer_lost": "A fault closed the connection before the response.",
		"malformed": "A fault replaced the response.", "slow": "A fault delayed the response."}[e.Fault]
	switch {
	case !hides:
		return "A fault made this response. The request was not carried out."
	case e.IsRead():
		return text
	case e.Kind == "":
		return text + " The request was refused, and nothing was done."
	default:
		return text + " The request was carried out."
	}
}

// OutcomeTag returns what the SDK reports, in a word.
func OutcomeTag(e *history.Entry) Tag {
	switch {
	case e.Delivery == messaging.DeliveryAccepted:
		return Tag{"ok", "accepted"}
	case e.Delivery == messaging.DeliveryRejected:
		return Tag{"bad", fmt.Sprintf("%d rejected", e.Status)}
	case e.Status < 300: // no response, or one that says nothing although its status does
		return Tag{"unknown", "unknown"}
	default:
		return Tag{"unknown", fmt.Sprintf("%d unknown", e.Status)}
	}
}

// deliveryTag returns a delivery, as JSON has it, as a tag.
func deliveryTag(name string) Tag {
	class := map[string]string{"accepted": "ok", "unknown": "unknown", "rejected": "bad"}[name]
	return Tag{class, spaced(name)}
}

// outcomeView is what package messaging reports to the caller.
type outcomeView struct {
	Heading  string
	Tag      Tag
	Error    string
	WhatToDo string
}

// nextSteps say what to do after an error.
var nextSteps = map[messaging.NextStep]string{
	messaging.NextNone: "Nothing: it was carried out, although the response cannot be read.",
	messaging.NextRetry: "It can be sent again. The client does that by itself, unless it would have to wait for more than 30 s; " +
		"the caller sees the error of the last attempt.",
	messaging.NextFixRequest: "Fix the request: nothing was done.",
	messaging.NextFixSetup:   "Fix the setup, such as the API key, the base URL or the path: this cannot succeed before.",
	messaging.NextCheck:      "Check before you send it again: it may have been carried out. The client does not repeat it.",
}

func newOutcome(e *history.Entry) outcomeView {
	if err := findings.Refusal(e); err != nil {
		return outcomeView{"The Go SDK would not have sent this", Tag{"warn", messaging.DeliveryOf(err).String()}, err.Error(),
			"The service carried it out, because it came from another program, from Send or Do, or from a client without validation."}
	}
	view := outcomeView{Heading: "What the Go SDK returns, with default options", Tag: deliveryTag(e.Delivery.String())}
	if err := outcome.Of(e.Exchange); err != nil {
		view.Error, view.WhatToDo = err.Error(), nextSteps[messaging.NextStepOf(err)]
	}
	return view
}
