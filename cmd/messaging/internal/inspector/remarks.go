package inspector

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// remark says what is suspicious in a request, whether or not it was carried out.
type remark struct {
	note history.Note
	text string
	// common is what other requests with the same remark say, if the text has something of
	// this one only. Each text is a separate finding.
	common []string
	// elsewhere is whether the page says it without a note.
	elsewhere bool
}

// taggedNotes are the notes for which a row has another tag than a mark.
var taggedNotes = []history.Note{history.NoteAPIKey, history.NoteSkipped, history.NoteUnknownParameter, history.NoteDuplicate,
	history.NoteWrongPath}

func (r remark) tagged() bool { return slices.Contains(taggedNotes, r.note) }

// remarks returns what is suspicious in a request. Of a body that is too large for a page,
// only what is known without reading it is returned.
func (in *Inspector) remarks(e *history.Entry) (list []remark) {
	for _, text := range credentialNotes(e) {
		list = append(list, remark{note: history.NoteAPIKey, text: text, elsewhere: true})
	}
	if n := len(e.Skipped); n > 0 {
		list = append(list, remark{note: history.NoteSkipped, text: skippedNote(n), common: []string{skippedNames(e)}})
	}
	if unknown := unknownParameters(e); len(unknown) > 0 {
		list = append(list, remark{note: history.NoteUnknownParameter, text: unknownNote(unknown)})
	}
	if duplicate, after := e.DuplicateOf(); duplicate > 0 {
		list = append(list, remark{note: history.NoteDuplicate, text: in.duplicateNote(duplicate, after),
			common: []string{"Possibly a duplicate of an earlier request."}})
	}
	if email := emailNote(e); email.text != "" {
		list = append(list, email)
	}
	if len(e.Request.Body) > maxShown || e.Cut {
		return list
	}
	for _, each := range []remark{
		{note: history.NoteWrongPath, text: routeNote(e), elsewhere: true},
		{note: history.NoteNameAsID, text: in.eventIDNote(e)},
		{note: history.NoteContentType, text: contentTypeNote(e)},
		variablesNote(e),
		{note: history.NoteUnknownKey, text: in.keysNote(e)},
		{note: history.NoteEmptyValue, text: in.emptyNote(e)},
		{note: history.NoteWrongType, text: in.typesNote(e)},
		{note: history.NoteUnknownType, text: definitionNote(e)},
		{note: history.NoteTwoAudiences, text: audienceNote(e)},
		{note: history.NoteInThePast, text: scheduleNote(e)},
		{note: history.NoteSameName, text: in.nameNote(e)},
	} {
		if each.text != "" {
			list = append(list, each)
		}
	}
	if err := refusal(e); err != nil {
		list = append(list, remark{note: history.NoteSDKRefuses, text: "By default, the SDK refuses this request and sends nothing.",
			elsewhere: true})
	}
	return list
}

func skippedNote(n int) string {
	return fmt.Sprintf("%s %s skipped. The event was triggered without %s, although the response reports success.",
		words.Count(n, "value"), was(n), it(n))
}

func (in *Inspector) duplicateNote(earlier int, after time.Duration) string {
	text := fmt.Sprintf("Possibly a duplicate: the same request was carried out %s earlier, as request %s",
		took(after), words.Thousands(earlier))
	if e, ok := in.box.History.Get(earlier); ok && outcomeTag(e).Class == "unknown" {
		text += ", but its caller cannot know that"
	}
	return text + "."
}

// skippedNames names the values that were skipped.
func skippedNames(e *history.Entry) string {
	const most = 3
	var names []string
	for _, skipped := range e.Skipped[:min(len(e.Skipped), most)] {
		names = append(names, skipped.Parameter)
	}
	if more := len(e.Skipped) - most; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s %s skipped, although the response reports success.", words.List(names, "and"), was(len(e.Skipped)))
}

// findNotes returns the notes of what is suspicious in a request.
func (in *Inspector) findNotes(e *history.Entry) (list []history.Note) {
	for _, r := range in.remarks(e) {
		list = append(list, r.note)
	}
	return list
}

// label is the remark in two or three words.
func (r remark) label() string {
	switch r.note {
	case history.NoteAPIKey:
		return "API key"
	case history.NoteDuplicate:
		return "duplicate?"
	case history.NoteSDKRefuses:
		return "the SDK refuses it"
	default:
		return strings.ReplaceAll(string(r.note), "_", " ")
	}
}

// mark tells in a row which remarks there are without a tag, and what they say.
type mark struct {
	Labels []string
	Title  string
}

// maxTitled is the size of the largest body that is read for the title of a mark. A page has
// many rows.
const maxTitled = 16 << 10

// newMark returns a mark without a label if there is nothing to show.
func (in *Inspector) newMark(e *history.Entry) mark {
	var labels, texts []string
	for _, n := range e.Notes() {
		if r := (remark{note: n}); !r.tagged() {
			labels = append(labels, r.label())
		}
	}
	if len(labels) == 0 {
		return mark{}
	}
	if len(e.Request.Body) > maxTitled {
		return mark{labels, "The page of the request says more."}
	}
	for _, r := range in.remarks(e) {
		if !r.tagged() {
			texts = append(texts, r.text)
		}
	}
	return mark{labels, strings.Join(texts, "\n")}
}

// keysNote names the members of the body that the operation or the event does not have.
func (in *Inspector) keysNote(e *history.Entry) string {
	const most = 5
	unknown := in.unknownMembers(e)
	if len(unknown) == 0 {
		return ""
	}
	var names []string
	for _, path := range sortedKeys(unknown) {
		name := path
		if meant := unknown[path]; meant != "" {
			name += fmt.Sprintf(" (did you mean %s?)", meant)
		}
		names = append(names, name)
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], fmt.Sprintf("%d more", more))
	}
	lacks := "the operation does not have"
	if e.Op == service.TriggerEvent.Name {
		lacks = "neither the operation nor the event has"
	}
	return "The request has keys that " + lacks + ": " + words.List(names, "and") + "."
}

// emptyNote names the texts that the event requires and that are empty.
func (in *Inspector) emptyNote(e *history.Entry) string {
	trigger, ok := e.Effect.(*fake.Trigger)
	if !ok {
		return ""
	}
	event, _ := in.box.Records.Event(trigger.EventID)
	payload := e.Payload()
	var names []string
	for _, p := range event.Parameters {
		if p.Required && isBlank(payload[p.Name]) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("%s %s empty, although the event requires a value.", words.List(names, "and"), is(len(names)))
}

// typesNote names the values of a trigger that are not of the type of their parameter.
func (in *Inspector) typesNote(e *history.Entry) string {
	trigger, ok := e.Effect.(*fake.Trigger)
	if !ok {
		return ""
	}
	event, _ := in.box.Records.Event(trigger.EventID)
	payload := e.Payload()
	var names []string
	for _, p := range event.Parameters {
		if newParameter(p, payload[p.Name], trigger).Undocumented {
			names = append(names, fmt.Sprintf("%s (%s)", p.Name, p.Type))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "A value has another type than its parameter: " + words.List(names, "and") + ". What the service makes of it is not documented."
}

// definitionNote names the parameters of a new event whose types are none that the service
// documents.
func definitionNote(e *history.Entry) string {
	event, ok := e.Effect.(*fake.Event)
	if !ok {
		return ""
	}
	documented := []messaging.ParameterType{messaging.ParameterText, messaging.ParameterNumeric, messaging.ParameterTimestamp}
	var names []string
	for _, p := range event.Parameters {
		if !slices.Contains(documented, messaging.ParameterType(strings.ToLower(string(p.Type)))) {
			names = append(names, fmt.Sprintf("%s (%s)", p.Name, p.Type))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return "A parameter has another type than text, numeric or timestamp, the types that are documented: " + words.List(names, "and") + "."
}

// maxChecked is the size of the largest email of which more than the size is checked before it is opened.
const maxChecked = 64 << 10

// emailNote names what readers of an email would miss.
func emailNote(e *history.Entry) remark {
	effect, ok := e.Effect.(*fake.EmailBroadcast)
	if !ok {
		return remark{}
	}
	head := effect.Message
	if len(head) > maxChecked {
		head = ""
	}
	var found []string
	for _, f := range mail.Check(head, len(effect.Message)) {
		if f.Severity == mail.High {
			found = append(found, f.Text)
		}
	}
	if len(found) == 0 {
		return remark{}
	}
	return remark{note: history.NoteEmailCheck, text: "The check of the email found: " + strings.Join(found, "; ") + ".", common: found}
}

// audienceNote is for a broadcast that is for all customers and for recipients.
func audienceNote(e *history.Entry) string {
	if e.Op != service.SendEmailBroadcast.Name && e.Op != service.SendPushBroadcast.Name {
		return ""
	}
	var body struct {
		All        bool            `json:"all_customers"`
		Recipients json.RawMessage `json:"recipients"`
	}
	empty := []string{"", "null", "[]", "{}"}
	if json.Unmarshal(e.Request.Body, &body) != nil || !body.All || slices.Contains(empty, string(bytes.TrimSpace(body.Recipients))) {
		return ""
	}
	return "The request has both all_customers and recipients. It is not documented which of them counts."
}

// scheduleNote is for a broadcast whose time had passed when it was sent.
func scheduleNote(e *history.Entry) string {
	var schedule *fake.Schedule
	switch effect := e.Effect.(type) {
	case *fake.EmailBroadcast:
		schedule = effect.Schedule
	case *fake.PushBroadcast:
		schedule = effect.Schedule
	}
	if schedule == nil {
		return ""
	}
	zone, err := time.LoadLocation(schedule.Timezone)
	if err != nil {
		return ""
	}
	if due, err := time.ParseInLocation(time.DateTime, schedule.Date, zone); err != nil || !due.Before(e.At) {
		return ""
	}
	return "The schedule was in the past when the request was sent. It is not documented when such a broadcast is sent."
}

// nameNote is for an event with the name of an earlier one.
func (in *Inspector) nameNote(e *history.Entry) string {
	event, ok := e.Effect.(*fake.Event)
	if !ok || in.box.Records.FirstEvent(event.Name) == event.ID {
		return ""
	}
	return "There was already an event with this name. The service created another one, with its own id."
}
