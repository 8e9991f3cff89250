package intent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
)

// marks are what people know a broadcast by, as digests. A broadcast that is corrected, or
// composed again, has one of them in common with the first.
type marks struct {
	Subject string `json:"subject,omitempty"`
	Message string `json:"message,omitempty"`
	// Slot stands for the customers and the time of a scheduled broadcast.
	Slot string `json:"slot,omitempty"`
}

var tag = regexp.MustCompile(`<[^>]*>`)

// marks returns those of a broadcast. Of a text, its letters and digits count.
func (s Send) marks() (m marks) {
	var body struct {
		Subject, Message string
		ScheduleDate     json.RawMessage `json:"schedule_date"`
	}
	if !s.Broadcast || json.Unmarshal(s.Body, &body) != nil {
		return marks{}
	}
	if subject := alike.Fold(body.Subject); subject != "" {
		m.Subject = s.digestOf("subject", []byte(subject))
	}
	if message := alike.Fold(tag.ReplaceAllString(body.Message, " ")); message != "" {
		m.Message = s.digestOf("message", []byte(message))
	}
	if len(body.ScheduleDate) > 0 && !bytes.Equal(body.ScheduleDate, []byte("null")) {
		m.Slot = s.digestOf("slot", s.only("recipients", "all_customers", "schedule_date"))
	}
	return m
}

// likeness says how a send with these marks is like an earlier one, or returns "".
func (m marks) likeness(earlier marks) string {
	var same []string
	if m.Subject != "" && m.Subject == earlier.Subject {
		same = append(same, "subject")
	}
	if m.Message != "" && m.Message == earlier.Message {
		same = append(same, "message")
	}
	switch {
	case same != nil:
		return "a broadcast with the same " + strings.Join(same, " and ")
	case m.Slot != "" && m.Slot == earlier.Slot:
		return likeSlot
	default:
		return ""
	}
}

// similar returns the last send that is like s, by hand or of an import, and refuses it. It
// is nil if there is none. Exactly s itself is History.Last.
func (l *Log) similar(lines []line, s Send) (found *Earlier, err error) {
	outcomes, digest, now := outcomesOf(lines), s.digest(), s.marks()
	for _, each := range lines {
		if each.Digest == "" || each.Digest == digest || each.Host != s.Host {
			continue
		}
		like := now.likeness(each.marks)
		if s.Trigger != nil && each.Event != nil && each.Event.isLike(s.Trigger) {
			like = likeTrigger
		}
		if like == "" {
			continue
		}
		outcome, ended := outcomes[each.ID]
		if e := l.earlier(each, outcome, ended); e != nil && (e.refuses || like == likeSlot) {
			found, e.Like, e.refuses = e, like, true
		}
	}
	if s.Trigger == nil {
		return found, nil
	}
	imported, err := l.similarImport(s)
	return cmp.Or(imported, found), err
}

// What Earlier.Like can say, apart from the texts of a broadcast. A broadcast that was
// scheduled counts until it is due, however long ago that was.
const (
	likeTrigger = "a trigger of this event for this customer, with the same required values,"
	likeSlot    = "another broadcast to the same customers, at the same time,"
)

// isLike reports whether two triggers are alike.
func (t *Trigger) isLike(other *Trigger) bool {
	return isSameEvent(t.ID, t.Name, other.ID, other.Name) && t.Tokens.Meet(other.Tokens)
}

// similarImport returns the last import of a trigger that is like s, or nil.
func (l *Log) similarImport(s Send) (found *Earlier, err error) {
	for each, err := range l.imports() {
		if err != nil {
			return nil, err
		}
		if each.Host != s.Host || !isSameEvent(each.EventID, each.EventName, s.Trigger.ID, s.Trigger.Name) {
			continue
		}
		switch has, err := each.has(s.Trigger.Tokens); {
		case err != nil:
			return nil, err
		case has:
			found = &Earlier{ID: each.ID, At: each.At, Outcome: "was " + each.what(), Like: likeTrigger, refuses: true}
		}
	}
	return found, nil
}
