package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/outcome"
)

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
	return Tag{class, strings.ReplaceAll(name, "_", " ")}
}

// outcomeView is what package messaging reports to the caller.
type outcomeView struct {
	Heading  string
	Tag      Tag
	Error    string
	WhatToDo string
}

// newOutcome follows the table "Was it sent?" of the documentation.
func newOutcome(e *history.Entry) outcomeView {
	if err := findings.Refusal(e); err != nil {
		return outcomeView{"The Go SDK would not have sent this", Tag{"warn", messaging.DeliveryOf(err).String()}, err.Error(),
			"The service carried it out, because it came from another program, from Send or Do, or from a client without validation."}
	}
	view := outcomeView{Heading: "What the Go SDK returns, with default options", Tag: deliveryTag(e.Delivery.String())}
	if err := outcome.Of(e.Exchange); err != nil {
		view.Error, view.WhatToDo = err.Error(), whatToDo(e, err)
	}
	return view
}

// maxRetryAfter is the longest wait before a retry, by default.
const maxRetryAfter = 30 * time.Second

// whatToDo returns the next step after an error.
func whatToDo(e *history.Entry, err error) string {
	var rejected *messaging.APIError
	longWait := errors.As(err, &rejected) && rejected.RetryAfter > maxRetryAfter
	retryable := messaging.NextStepOf(err) == messaging.NextRetry
	switch {
	case e.Delivery == messaging.DeliveryAccepted:
		return "Nothing: it was carried out, although the response cannot be read."
	case retryable && longWait:
		return "Nothing was done. The client does not wait as long as the service asks for: try again after that time."
	case retryable && e.IsRead():
		return "The client retries this by itself; the caller sees this error only if the last attempt fails."
	case e.Delivery == messaging.DeliveryUnknown && e.IsRead():
		return "A read changes nothing: repeat it when the cause is gone."
	case e.Delivery == messaging.DeliveryUnknown:
		return "Check before you send it again: it may have been carried out. The client does not repeat it."
	case retryable:
		return "Nothing was done. The client retries this by itself; the caller sees this error only if the last attempt fails."
	case errors.Is(err, messaging.ErrValidation):
		return "Fix the request: nothing was done."
	case e.Op == "" && e.Key() == history.RightKey:
		return "Check the method and the path: nothing was done."
	case errors.Is(err, messaging.ErrUnauthorized), errors.Is(err, messaging.ErrNotFound):
		return "Check the API key and the base URL: nothing was done."
	default:
		return "Nothing was done; see the error message."
	}
}

// kindName returns the kind of a fault in words.
func kindName(kind string) string {
	if kind == "answer_lost" {
		return "response lost"
	}
	return strings.ReplaceAll(kind, "_", " ")
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
