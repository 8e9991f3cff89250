package inspector

import (
	"fmt"
	"slices"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// failureTag says in a row that the same send failed before, in another call.
func failureTag(e *history.Entry) tag {
	return tag{"", fmt.Sprintf("repeats #%d", e.Failed())}
}

// failureNotes connect a send with the same one in other calls that failed, before it and after it.
func (d *entryDetail) failureNotes() (list []note) {
	failures := d.in.box.History.Failures(d.Entry)
	if duplicate, _ := d.DuplicateOf(); len(failures) > 0 && failures[0].Number != duplicate { // else another note says it
		more := "Show it"
		if len(failures) > 1 {
			more = "Show the latest"
		}
		list = append(list, note{Text: failuresNote(d.Entry, failures), More: more,
			Href: fmt.Sprintf("/requests/%d", failures[0].Number)})
	}
	later, ok := d.in.box.History.Get(d.SentAgain())
	if !ok || later.Number == d.Duplicate() { // another note says it
		return list
	}
	return append(list, note{
		Text: fmt.Sprintf("The same request was sent again %s later, as request %s.", took(later.At.Sub(d.At)), numbered(later, d.Entry)),
		Href: fmt.Sprintf("/requests/%d", later.Number), More: "Show it"})
}

// failuresNote names the calls of the same request that failed, and says what only the sandbox knows: whether they were carried out.
func failuresNote(of *history.Entry, failures []*history.Entry) string {
	var names []string
	done, unknown, retried := 0, false, false
	for _, e := range slices.Backward(failures) {
		names = append(names, "request "+numbered(e, of))
		if e.Effect != nil {
			done++
		}
		delivery, retryable := e.Delivery()
		unknown = unknown || delivery == messaging.DeliveryUnknown
		retried = retried || retryable
	}
	fate := carriedOut(done, len(failures))
	if earlier := of.FailedBefore() - len(failures); earlier > 0 {
		names = append([]string{words.Count(earlier, "earlier one")}, names...)
		fate = fmt.Sprintf("Of the latest %d, %d %s carried out", len(failures), done, was(done))
	}
	text := fmt.Sprintf("The same request failed before, as %s. %s", words.List(names, "and"), fate)
	if unknown {
		text += ", but the caller cannot know that"
	}
	text += "."
	if !retried {
		text += " The SDK does not repeat such a request by itself."
	}
	return text
}

// numbered returns a request as its number and its outcome, and says if its key is not like that of another one.
func numbered(e, other *history.Entry) string {
	key, otherKey, how := e.Key(), other.Key(), ""
	switch {
	case keyInWords(key) == keyInWords(otherKey):
	case key.Header == "":
		how = ", without a key"
	case otherKey.Header == "":
		how = ", with a key"
	default:
		how = ", with a different key"
	}
	return fmt.Sprintf("%s (%s%s)", words.Thousands(e.Number), outcomeTag(e).Text, how)
}

// carriedOut says how many of some requests were carried out.
func carriedOut(done, all int) string {
	switch {
	case all == 1 && done == 1:
		return "It was carried out"
	case all == 1:
		return "It was not carried out"
	case done == 0:
		return "They were not carried out"
	case done == all:
		return "They were carried out"
	default:
		return fmt.Sprintf("%d of them %s carried out", done, was(done))
	}
}
