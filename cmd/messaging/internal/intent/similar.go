package intent

import (
	"encoding/json"
	"html"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// marks are what people know a broadcast by, as digests. A broadcast that is corrected, or
// composed again, has one of them in common with the first.
type marks struct {
	Subject string `json:"subject,omitempty"`
	Message string `json:"message,omitempty"`
	// SubjectWords and MessageWords stand for them without what a clock may change.
	SubjectWords string `json:"subject_words,omitempty"`
	MessageWords string `json:"message_words,omitempty"`
	// To stands for the customers. So does ToByID, with the ids of the customers who have one in
	// place of their addresses.
	To     string `json:"to,omitempty"`
	ToByID string `json:"to_by_id,omitempty"`
	// Slot and SlotByID stand for the customers and the time of a scheduled broadcast.
	Slot     string `json:"slot,omitempty"`
	SlotByID string `json:"slot_by_id,omitempty"`
}

// marks returns those of a broadcast. Of a text, the letters and digits that readers see count, or if there are none, as in a
// message of images, what readers cannot see as well.
func (s Send) marks() (m marks) {
	var body struct {
		Subject, Message string
		schedule
		audience
	}
	if !s.Broadcast || json.Unmarshal(s.Body, &body) != nil {
		return marks{}
	}
	text := html.UnescapeString(body.Message)
	if mail.IsHTML(body.Message) {
		text = mail.Text(body.Message)
	}
	if !strings.ContainsFunc(text, visible.LetterOrDigit) {
		text = body.Message
	}
	subject, message := alike.Fold(body.Subject), alike.Fold(text)
	byAddress, byID := strings.Join(body.names(byAddress), "\n"), strings.Join(body.names(byID), "\n")
	digest := func(what, of string) string {
		if of == "" {
			return ""
		}
		return s.digestOf(what, []byte(of))
	}
	m = marks{
		Subject: digest("subject", subject), SubjectWords: digest("subject words", timeless(body.Subject)),
		Message: digest("message", message), MessageWords: digest("message words", timeless(text)),
		To: digest("to", byAddress), ToByID: digest("to", byID),
	}
	if at := body.instant(); at != "" {
		m.Slot, m.SlotByID = digest("slot", at+"\n"+byAddress), digest("slot", at+"\n"+byID)
	}
	return m
}

// ofClock matches the words of a time, and of a day.
var ofClock = regexp.MustCompile(`^(am|pm|utc|gmt|cet|cest|(mon|tues?|wed(nes)?|thu(rs)?|fri|sat(ur)?|sun)(day)?|` +
	`jan(uary)?|feb(ruary)?|mar(ch)?|apr(il)?|may|june?|july?|aug(ust)?|sep(t|tember)?|oct(ober)?|nov(ember)?|dec(ember)?)$`)

// timeless returns the words of a text, without those that have digits or are of a clock.
func timeless(text string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !visible.LetterOrDigit(r) })
	return alike.Fold(strings.Join(slices.DeleteFunc(words, func(word string) bool {
		return strings.ContainsFunc(word, unicode.IsDigit) || ofClock.MatchString(word)
	}), " "))
}

// due returns when a scheduled broadcast is sent, or nil.
func (s Send) due() *time.Time {
	var body schedule
	if !s.Broadcast || json.Unmarshal(s.Body, &body) != nil {
		return nil
	}
	at, err := time.Parse(time.RFC3339, body.instant())
	if err != nil {
		return nil
	}
	return &at
}

// schedule is when a broadcast is sent.
type schedule struct {
	Schedule *messaging.Schedule `json:"schedule_date"`
}

// instant returns the time, which is the same in any time zone, or "" for now.
func (s schedule) instant() string {
	if s.Schedule == nil {
		return ""
	}
	if zone, err := time.LoadLocation(s.Schedule.Timezone); err == nil {
		if at, err := time.ParseInLocation(time.DateTime, s.Schedule.Date, zone); err == nil {
			return at.UTC().Format(time.RFC3339)
		}
	}
	return s.Schedule.Date + " " + s.Schedule.Timezone
}

// audience is to whom a broadcast is sent. One group of recipients is not in a list.
type audience struct {
	AllCustomers bool            `json:"all_customers"`
	Recipients   json.RawMessage `json:"recipients"`
}

// group is one group of recipients.
type group struct {
	Segments  []string
	Customers []messaging.CustomerParams
}

func (a audience) groups() []group {
	var one group
	if json.Unmarshal(a.Recipients, &one) == nil {
		return []group{one}
	}
	var list []group
	_ = json.Unmarshal(a.Recipients, &list) // a broadcast to all customers has none
	return list
}

// byAddress and byID name a customer, if possible by what they are called after.
func byAddress(c messaging.CustomerParams) string {
	if c.Email == "" {
		return "id " + alike.Fold(c.CustomerID)
	}
	return "email " + alike.Address(c.Email)
}

func byID(c messaging.CustomerParams) string {
	if c.CustomerID == "" {
		return "email " + alike.Address(c.Email)
	}
	return "id " + alike.Fold(c.CustomerID)
}

// names returns what the recipients are known by, in order.
func (a audience) names(of func(messaging.CustomerParams) string) (names []string) {
	if a.AllCustomers {
		names = append(names, "all")
	}
	for _, g := range a.groups() {
		for _, segment := range g.Segments {
			names = append(names, "segment "+segment)
		}
		for _, c := range g.Customers {
			names = append(names, of(c))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isInSlotOf reports whether a broadcast is scheduled for the customers and the time of an
// earlier one, which counts however long ago it was sent.
func (m marks) isInSlotOf(earlier marks) bool {
	return m.Slot != "" && (m.Slot == earlier.Slot || m.SlotByID == earlier.SlotByID)
}

// isTo reports whether a broadcast has the customers of an earlier one.
func (m marks) isTo(earlier marks) bool {
	return m.To != "" && (m.To == earlier.To || m.ToByID == earlier.ToByID)
}

// likeness says how a broadcast with these marks is like an earlier one, or returns "". Unless
// the earlier one was accepted, other numbers make no difference: a command that is repeated
// after a lost answer may take them from a clock.
func (m marks) likeness(earlier marks, accepted bool) string {
	same := both(m.Subject, earlier.Subject, m.Message, earlier.Message)
	switch slot := m.isInSlotOf(earlier); {
	case same != "" && slot:
		return "a broadcast with the same " + same + " to the same customers, at the same time,"
	case same != "":
		return "a broadcast with the same " + same
	case slot:
		return "another broadcast to the same customers, at the same time,"
	}
	if words := both(m.SubjectWords, earlier.SubjectWords, m.MessageWords, earlier.MessageWords); words != "" && !accepted {
		return "a broadcast with the same " + words + " apart from numbers and dates,"
	}
	return ""
}

// both says which of the two texts of a broadcast is the same, or returns "".
func both(subject, otherSubject, message, otherMessage string) string {
	var same []string
	if subject != "" && subject == otherSubject {
		same = append(same, "subject")
	}
	if message != "" && message == otherMessage {
		same = append(same, "message")
	}
	return strings.Join(same, " and ")
}

// unsettled returns the last broadcast to the customers of a new one if it is not the same, and may have
// been carried out less than a day ago. Until somebody has looked, the new one may be meant to replace it.
func (l *Log) unsettled(lines []line, outcomes map[string]line, host, digest string, now marks) *Earlier {
	for _, each := range slices.Backward(lines) {
		if each.Digest == "" || !now.isTo(each.marks) || !isSameService(each.Host, host) {
			continue
		}
		outcome, ended := outcomes[each.ID]
		e := l.earlier(each, outcome, ended)
		if e == nil {
			continue
		}
		if each.Digest == digest || e.accepted || e.inFlight || l.now().Sub(each.sentAt()) >= window {
			return nil
		}
		e.Like = "another broadcast to the same customers"
		return e
	}
	return nil
}

// similar returns the sends that are like s, by hand or of imports, and refuse it. Exactly s
// itself is History.Last.
func (l *Log) similar(lines []line, s Send) (found []*Earlier, err error) {
	outcomes, digest, now := outcomesOf(lines), s.digest(), s.marks()
	for _, each := range lines {
		if each.Digest == "" || each.Digest == digest || !isSameService(each.Host, s.Host) {
			continue
		}
		outcome, ended := outcomes[each.ID]
		e := l.earlier(each, outcome, ended)
		if e == nil || !e.refuses && !now.isInSlotOf(each.marks) {
			continue
		}
		like := now.likeness(each.marks, e.accepted)
		if s.Trigger != nil && each.Event != nil {
			like = each.Event.likeness(s.Trigger, e.accepted)
		}
		if like != "" {
			e.Like, e.refuses = like, true
			found = append(found, e)
		}
	}
	if s.Trigger == nil {
		last := l.unsettled(lines, outcomes, s.Host, digest, now)
		if last != nil && !slices.ContainsFunc(found, func(e *Earlier) bool { return e.ID == last.ID }) {
			found = append(found, last)
		}
		return found, nil
	}
	imported, err := l.similarImports(s)
	return append(found, imported...), err
}

// How a trigger is like an earlier one.
const (
	likeTrigger  = "a trigger of this event for this customer, with the same required values,"
	likeUntimed  = "a trigger of this event for this customer, with the same required values apart from times,"
	likeRequired = "a trigger of this event, when it required values that it does not have now," // so they cannot be compared
	// Nobody can tell whether an address and an id are those of one customer.
	likeOtherwise = "a trigger of this event with the same required values, for a customer who may be the same (one is named by an id " +
		"and the other by an address),"
)

// likeness says how a new trigger is like an earlier one, or returns "". Unless the earlier one
// was accepted, another time makes no difference: a command that is repeated after a lost answer
// may take the time from a clock.
func (t *Trigger) likeness(now *Trigger, accepted bool) string {
	if !isSameEvent(t.ID, t.Name, now.ID, now.Name) {
		return ""
	}
	switch tokens, ok := now.in(t.Shape); {
	case !ok:
		return likeRequired
	case t.Tokens.Meet(tokens):
		return likeTrigger
	case t.Tokens.MayMeet(tokens):
		return likeOtherwise
	case !accepted && t.Untimed.Meet(now.Untimed):
		return likeUntimed
	case !accepted && t.Untimed.MayMeet(now.Untimed):
		return likeOtherwise
	}
	return ""
}

// similarImports returns the imports of a trigger that is like s.
func (l *Log) similarImports(s Send) (found []*Earlier, err error) {
	for each, err := range l.imports() {
		if err != nil {
			return nil, err
		}
		if !isSameService(each.Host, s.Host) || !isSameEvent(each.EventID, each.EventName, s.Trigger.ID, s.Trigger.Name) {
			continue
		}
		like := likeRequired
		if tokens, ok := s.Trigger.in(each.Shape); ok {
			common, err := each.with(tokens)
			switch {
			case err != nil:
				return nil, err
			case common == nil:
				continue
			case common.Count > 0:
				like = likeTrigger
			default:
				like = likeOtherwise
			}
		}
		found = append(found, &Earlier{ID: each.ID, At: each.At, Outcome: "was " + each.what(), Like: like, refuses: true})
	}
	return found, nil
}
