package view

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/service"
)

// replay is what a request is repeated with.
type replay struct {
	*history.Entry
	Texts map[string]string
	Body  string
}

func newReplay(e *history.Entry) replay {
	r := replay{Entry: e, Texts: textsOf(e)}
	if isEditable(e) {
		r.Body = string(e.Request.Body)
		var pretty bytes.Buffer
		if json.Indent(&pretty, e.Request.Body, "", "  ") == nil {
			r.Body = pretty.String()
		}
	}
	return r
}

// isEditable reports whether a page has the whole body of a request.
func isEditable(e *history.Entry) bool {
	return len(e.Request.Body) <= maxShown && utf8.Valid(e.Request.Body)
}

// textsOf returns the subject and the message of a broadcast, since nobody can edit HTML within a string of JSON. It returns
// nil if one of them is not a text that a form can hold.
func textsOf(e *history.Entry) map[string]string {
	op := service.Named(e.Op)
	var members map[string]any
	if op != service.SendEmailBroadcast && op != service.SendPushBroadcast || !isEditable(e) ||
		json.Unmarshal(e.Request.Body, &members) != nil {
		return nil
	}
	texts := make(map[string]string)
	for name, unfit := range map[string]string{"subject": "\r\n\x00", "message": "\x00"} {
		text, ok := members[name].(string)
		if !ok || strings.ContainsAny(text, unfit) {
			return nil
		}
		texts[name] = text
	}
	return texts
}

// EditedBody returns the body of a form: the whole one, or the recorded one with other texts. It is nil if the form has none
// of them, or has not changed them. It reports false if the texts cannot be edited alone.
func EditedBody(e *history.Entry, form url.Values) (body []byte, ok bool) {
	if form.Has("body") {
		return []byte(withLineEnds(string(e.Request.Body), form.Get("body"))), true
	}
	var members map[string]json.RawMessage
	_ = json.Unmarshal(e.Request.Body, &members) // or there are no texts
	texts, changed := textsOf(e), false
	for _, name := range []string{"subject", "message"} {
		edited := withLineEnds(texts[name], form.Get(name))
		switch {
		case !form.Has(name):
		case texts == nil:
			return nil, false
		case edited != texts[name]:
			members[name], changed = []byte(encode(edited, "")), true
		}
	}
	if !changed {
		return nil, true
	}
	return []byte(encode(members, "")), true
}

// withLineEnds returns a text of a form, which always sends CR LF, with the line ends of the original.
func withLineEnds(original, text string) string {
	if strings.Contains(original, "\r\n") {
		return text
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// encode returns JSON that people can read: markup is not escaped.
func encode(value any, indent string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	_ = encoder.Encode(value) // a text, or what was read from JSON
	return strings.TrimSuffix(b.String(), "\n")
}
