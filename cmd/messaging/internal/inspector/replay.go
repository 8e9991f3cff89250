package inspector

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
)

// postReplay repeats a request from its page, and shows the new one. The fragment of its address
// moves the focus there, where people who hear the page would otherwise not notice it.
func (in *Inspector) postReplay(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		guard.Refuse(w, bodyStatus(err), "cannot read the form: "+err.Error())
		return
	}
	number, err := strconv.Atoi(r.PostFormValue("number"))
	replay := sandbox.Replay{Number: number, Faults: r.PostFormValue("faults") != "", AsSent: r.PostFormValue("as_sent") != ""}
	if e, ok := in.box.History.Get(number); ok && err == nil {
		replay.Body, err = formBody(e, r.PostForm)
	}
	var created int
	if err == nil {
		created, err = in.box.Replay(r.Context(), replay)
	}
	if err != nil {
		guard.Refuse(w, replayStatus(err), oneLine(err))
		return
	}
	http.Redirect(w, r, fmt.Sprintf("/requests/%d#detail", created), http.StatusSeeOther)
}

var errNoTexts = errors.New("the subject and the message of this request cannot be edited alone")

// formBody returns the body of a form: the whole one, or the recorded one with other texts. It
// is nil if the form has none of them.
func formBody(e *history.Entry, form url.Values) (*sandbox.ReplayBody, error) {
	var body sandbox.ReplayBody
	switch {
	case form.Has("body"):
		body = []byte(withLineEnds(string(e.Request.Body), form.Get("body")))
	case form.Has("subject"), form.Has("message"):
		texts := textsOf(e)
		if texts == nil {
			return nil, errNoTexts
		}
		body = replaceTexts(e.Request.Body, texts, form)
	default:
		return nil, nil
	}
	return &body, nil
}

// withLineEnds returns a text of a form with the line ends of the original: a form sends CR LF
// whatever it was filled with.
func withLineEnds(original, text string) string {
	if strings.Contains(original, "\r\n") {
		return text
	}
	return strings.ReplaceAll(text, "\r\n", "\n")
}

// isEditable reports whether a page has the whole body of a request.
func isEditable(e *history.Entry) bool {
	return len(e.Request.Body) <= maxShown && utf8.Valid(e.Request.Body)
}

// bodyText is a text of a body, with the range of its JSON.
type bodyText struct {
	Text       string
	begin, end int
}

// textsOf returns the subject and the message of a broadcast. It returns nil if people can edit
// only the whole body: one of them is not a text that a form can hold, or is there more than once.
func textsOf(e *history.Entry) map[string]bodyText {
	if !requestsBroadcast(e) || !isEditable(e) {
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
func findTexts(body []byte, names ...string) (texts map[string]bodyText, ok bool) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	if begin, _ := decoder.Token(); begin != json.Delim('{') || !json.Valid(body) {
		return nil, false
	}
	texts = make(map[string]bodyText)
	for decoder.More() {
		key, _ := decoder.Token() // the body is valid
		name, _ := key.(string)
		var value json.RawMessage
		_ = decoder.Decode(&value)
		if !slices.Contains(names, name) {
			continue
		}
		end := int(decoder.InputOffset())
		text := bodyText{begin: end - len(value), end: end}
		if _, twice := texts[name]; twice || value[0] != '"' || json.Unmarshal(value, &text.Text) != nil {
			return nil, false
		}
		texts[name] = text
	}
	return texts, len(texts) == len(names)
}

// replaceTexts returns a body with the texts of a form. Every other byte stays, and so does a
// text that was not edited.
func replaceTexts(body []byte, texts map[string]bodyText, form url.Values) []byte {
	body = bytes.Clone(body)
	last := func(a, b string) int { return texts[b].begin - texts[a].begin } // first, so that the other range stays
	for _, name := range slices.SortedFunc(maps.Keys(texts), last) {
		text := texts[name]
		if edited := form.Get(name); form.Has(name) && unixLines(edited) != unixLines(text.Text) {
			body = slices.Replace(body, text.begin, text.end, encodeText(withLineEnds(text.Text, edited))...)
		}
	}
	return body
}

// unixLines returns a text with the line ends that a browser shows.
func unixLines(text string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
}

// encodeText returns a text as JSON that people can read: markup is not escaped.
func encodeText(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text is always encoded
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
