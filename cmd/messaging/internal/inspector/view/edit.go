package view

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/internal/service"
)

// isEditable reports whether a page has the whole body of a request.
func isEditable(e *history.Entry) bool {
	return len(e.Request.Body) <= maxShown && utf8.Valid(e.Request.Body)
}

// replay is what a request is repeated with.
type replay struct {
	*history.Entry
	Texts map[string]bodyMember
	Body  string
}

// goEscape is an escape of JSON. Those of <, > and &, which encoding/json writes, need none.
var goEscape = regexp.MustCompile(`\\(u003[cCeE]|u0026|.)`)

var unescapedByGo = map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"}

func newReplay(e *history.Entry) replay {
	r := replay{Entry: e, Texts: textsOf(e)}
	if !isEditable(e) {
		return r
	}
	r.Body = string(e.Request.Body)
	var pretty bytes.Buffer
	if json.Indent(&pretty, e.Request.Body, "", "  ") == nil {
		r.Body = goEscape.ReplaceAllStringFunc(pretty.String(), func(escape string) string {
			return cmp.Or(unescapedByGo[strings.ToLower(escape)], escape)
		})
	}
	return r
}

// EditedBody returns the body of a form: the whole one, or the recorded one with other texts.
// It is nil if the form has none of them. It reports false if the texts cannot be edited alone.
func EditedBody(e *history.Entry, form url.Values) (body []byte, ok bool) {
	switch {
	case form.Has("body"):
		return []byte(withLineEnds(string(e.Request.Body), form.Get("body"))), true
	case form.Has("subject"), form.Has("message"):
		texts := textsOf(e)
		return replaceTexts(e.Request.Body, texts, form), texts != nil
	default:
		return nil, true
	}
}

// withLineEnds returns a text of a form with the line ends of the original: a form sends CR LF
// whatever it was filled with.
func withLineEnds(original, text string) string {
	if strings.Contains(original, "\r\n") {
		return text
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// bodyMember is a text of a body, with the range of its JSON.
type bodyMember struct {
	Text       string
	begin, end int
}

// textsOf returns the subject and the message of a broadcast. It returns nil if people can edit
// only the whole body: one of them is not a text that a form can hold, or is there more than once.
func textsOf(e *history.Entry) map[string]bodyMember {
	op := service.Named(e.Op)
	if op != service.SendEmailBroadcast && op != service.SendPushBroadcast || !isEditable(e) {
		return nil
	}
	texts, ok := findTexts(e.Request.Body, "subject", "message")
	if !ok || strings.ContainsAny(texts["subject"].Text, "\r\n\x00") || strings.Contains(texts["message"].Text, "\x00") {
		return nil
	}
	return texts
}

// findTexts returns the members of a JSON object with the names. It reports false unless each is
// a text and is there once.
func findTexts(body []byte, names ...string) (texts map[string]bodyMember, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if begin, _ := decoder.Token(); begin != json.Delim('{') || !json.Valid(body) {
		return nil, false
	}
	texts = make(map[string]bodyMember)
	for decoder.More() {
		key, _ := decoder.Token() // the body is valid
		name, _ := key.(string)
		var value json.RawMessage
		_ = decoder.Decode(&value)
		if !slices.Contains(names, name) {
			continue
		}
		end := int(decoder.InputOffset())
		text := bodyMember{begin: end - len(value), end: end}
		if _, twice := texts[name]; twice || value[0] != '"' || json.Unmarshal(value, &text.Text) != nil {
			return nil, false
		}
		texts[name] = text
	}
	return texts, len(texts) == len(names)
}

// replaceTexts returns a body with the texts of a form. Every other byte stays, and so does a
// text that was not edited.
func replaceTexts(body []byte, texts map[string]bodyMember, form url.Values) []byte {
	body = bytes.Clone(body)
	last := func(a, b string) int { return texts[b].begin - texts[a].begin } // first, so that the other range stays
	for _, name := range slices.SortedFunc(maps.Keys(texts), last) {
		text := texts[name]
		if edited := form.Get(name); form.Has(name) && unixLines.Replace(edited) != unixLines.Replace(text.Text) {
			body = slices.Replace(body, text.begin, text.end, encodeText(withLineEnds(text.Text, edited))...)
		}
	}
	return body
}

// unixLines replaces line ends by those that a browser shows.
var unixLines = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// encodeText returns a text as JSON that people can read: markup is not escaped.
func encodeText(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text is always encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
