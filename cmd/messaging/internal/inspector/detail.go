package inspector

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
)

// entryDetail is what the detail of a request, a broadcast or a trigger shows. Its methods
// do the work of one tab.
type entryDetail struct {
	*history.Entry
	Title, Sub string
	Tags       []tag
	Tabs       []tab
	Actions    []tab // what is done with the request, beside the tabs
	Tab        string
	Notes      []note
	Facts      []fact

	Outcome  outcomeView
	Email    *emailView
	Push     *fake.PushBroadcast
	Trigger  *triggerView
	Refused  *refusedTrigger
	Audience []fake.Recipient
	Attempts []attempt // of a call, in their order, if there are several

	in      *Inspector
	path    string
	query   url.Values
	with    int               // the request to compare with, or 0
	unknown map[string]string // of the body: see findings.Unknown
}

// Request returns the request as it was sent.
func (d *entryDetail) Request() exchangeSide {
	side := newSide(d.Entry.Request.Header, d.Entry.Request.Body, d.marks())
	side.Download = fmt.Sprintf("/api/requests/%d/body", d.Number)
	return side
}

// marks are what to say at the values of the request: its problems, and what the service
// skipped or does not document.
func (d *entryDetail) marks() lineNotes {
	marks := lineNotes{problems: d.Problems, hints: map[string]string{}, unknown: d.unknown}
	if d.Trigger == nil {
		return marks
	}
	for _, p := range d.Trigger.Parameters {
		switch path := "payload." + p.Name; {
		case p.Skipped:
			marks.hints[path] = "skipped: only the form YYYY-MM-DDThh:mm:ssZ is read"
			if p.Corrected != "" {
				marks.hints[path] += ", here " + p.Corrected
			}
		case p.Undocumented:
			marks.hints[path] = "what the service makes of this value is not documented"
		}
	}
	return marks
}

// Response returns the response as it was sent.
func (d *entryDetail) Response() exchangeSide {
	return newSide(d.ResponseHeader, d.ResponseBody, lineNotes{})
}

// Diff compares the request with another one.
func (d *entryDetail) Diff() *diffView { return d.in.newDiff(d.Entry, d.with) }

// Copies returns code that sends the request again.
func (d *entryDetail) Copies() []snippet {
	body := fmt.Sprintf("/api/requests/%d/body", d.Number)
	var key copies.Field
	key.Name, key.Value = d.Key().Field(copies.APIKey)
	code := copies.Go(d.Op, d.Entry.Request)
	if !d.Key().Right() {
		code = "// The request was not sent like this: the client sends its key in X-Authorization.\n" + code
	}
	return []snippet{{"curl", copies.Curl(d.Entry.Request, key, body)}, {"Go", code}}
}

// goEscape is an escape of JSON. Those of <, > and &, which encoding/json writes, need none.
var goEscape = regexp.MustCompile(`\\(u003[cCeE]|u0026|.)`)

var unescapedByGo = map[string]string{`\u003c`: "<", `\u003e`: ">", `\u0026`: "&"}

// Body returns the body of the request, to edit it.
func (d *entryDetail) Body() string {
	body := d.Entry.Request.Body
	if !isEditable(d.Entry) {
		return ""
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") != nil {
		return string(body)
	}
	return goEscape.ReplaceAllStringFunc(pretty.String(), func(escape string) string {
		return cmp.Or(unescapedByGo[strings.ToLower(escape)], escape)
	})
}

// Texts returns the subject and the message of a broadcast, to edit them without the rest.
func (d *entryDetail) Texts() map[string]bodyText { return textsOf(d.Entry) }

// CanReplay reports whether the request can be repeated.
func (d *entryDetail) CanReplay() bool { return d.Op != "" }

// CustomerCount returns how many customers the request created or updated.
func (d *entryDetail) CustomerCount() int { return d.Created + d.Updated }

// MoreCustomers returns how many of them the page does not show.
func (d *entryDetail) MoreCustomers() int { return d.CustomerCount() - len(d.Changes) }

// attempt is one of several requests that look like one call and its retries.
type attempt struct {
	row
	After string // the time since the one before, or ""
}

// attempts returns the attempts of the call of a request, in their order. It is nil if there is one.
func (in *Inspector) attempts(e *history.Entry) (list []attempt) {
	all := append(in.box.History.Attempts(e), e) // the last one before it comes first
	slices.Reverse(all[:len(all)-1])
	all = append(all, in.box.History.Later(e)...)
	if len(all) == 1 {
		return nil
	}
	for i, each := range all {
		a := attempt{row: linkedRow(each)}
		a.Current = each == e
		if i > 0 {
			a.After = took(each.At.Sub(all[i-1].At))
		}
		list = append(list, a)
	}
	return list
}

// Again says which of the attempts of a call the request is: of a send, only the last can have been carried out.
func (d *entryDetail) Again() string {
	current := slices.IndexFunc(d.Attempts, func(a attempt) bool { return a.Current })
	return fmt.Sprintf("Looks like attempt %s of %s:", words.Thousands(d.Attempt),
		words.Thousands(d.Attempt+len(d.Attempts)-1-current))
}

type tab struct {
	Name, Label string
	Rest        string // of the label, where there is room
	Count       int
	Href        string
	Current     bool
}

type fact struct {
	Label  string
	Values []string
}

type exchangeSide struct {
	Header []headerLine
	Lines  []jsonLine // nil if the body is not JSON
	Text   string     // of a body that is not JSON
	Syntax *syntaxError
	Cut    int // how many bytes are not shown
	// Download is the address of the whole body, or "".
	Download string
	Empty    bool
}

type headerLine struct{ Name, Value string }

// newDetail returns the detail of an entry with the selected tab. The base is
// the path of its list.
func (in *Inspector) newDetail(e *history.Entry, base string, r *http.Request) *entryDetail {
	d := &entryDetail{Entry: e, Title: title(e), Tags: tags(e), Outcome: newOutcome(e), in: in,
		path: fmt.Sprintf("%s/%d", base, e.Number), query: r.URL.Query()}
	d.with, _ = strconv.Atoi(d.query.Get("with")) // what is not a number is the previous request
	what := operation(e)
	if what == d.Title {
		what = endpoint(e)
	}
	d.Sub = joined(what, fmt.Sprintf("request %s · %s · %s", words.Thousands(e.Number), words.Recent(e.At)+e.At.Format(".000"),
		took(e.Took)))
	if email := e.Email(); email != nil {
		d.Email, d.Audience = &emailView{EmailBroadcast: email, entry: e}, email.Recipients
		d.Facts = emailFacts(email)
	}
	if d.Push = e.Push(); d.Push != nil {
		d.Audience = d.Push.Recipients
		d.Facts = []fact{schedule(d.Push.Schedule), {"WhatsApp template", []string{d.Push.WhatsAppTemplateID}}}
	}
	if isTrigger(e) {
		d.Trigger = in.newTrigger(e)
		d.Sub = "For " + strings.Join(e.Names, "") + " · " + d.Sub
	}
	if requestsBroadcast(e) {
		d.Sub = joined(prefixed("To ", recipients(e, 1)), d.Sub)
	}
	if requestsTrigger(e) && !isTrigger(e) {
		d.Refused = in.newRefused(e)
	}
	d.Attempts = in.attempts(e)
	d.Facts = append(d.Facts, fact{"Sent by", []string{e.Request.Header.Get("User-Agent")}})
	d.unknown = findings.Unknown(e, in.box.Records)
	d.Notes = notes(d)
	d.Facts = slices.DeleteFunc(append(d.Facts, effectFacts(e)...), func(f fact) bool { return strings.Join(f.Values, "") == "" })
	d.addTabs(d.query.Get("tab"), d.query.Get("q"))
	return d
}

// endpoint returns the method and the path of an operation, or "" if they are its name.
func endpoint(e *history.Entry) string {
	if e.Op == "" {
		return ""
	}
	return e.Request.Method + " " + e.Request.Path
}

// Source returns the URL of the tab with the source.
func (d *entryDetail) Source() string {
	return d.path + queryString("q", d.query.Get("q"), "tab", "source")
}

// linkedRow returns the row of a request with the URL of its page.
func linkedRow(e *history.Entry) row {
	row := newRow(e)
	row.Href = fmt.Sprintf("/requests/%d", e.Number)
	return row
}

// HasFacts reports whether there is something to say beside the view.
func (d *entryDetail) HasFacts() bool {
	return len(d.Facts) > 0 || d.Trigger != nil || d.Refused != nil || d.Fault != ""
}

// addTabs adds the tabs and the actions, of which one is current.
func (d *entryDetail) addTabs(selected, query string) {
	list := d.views()
	views := len(list)
	list = append(list, tab{Name: "diff", Label: "Compare"}, tab{Name: "copy", Label: "Copy"})
	if d.CanReplay() {
		list = append(list, tab{Name: "replay", Label: "Replay"})
	}
	d.Tab = list[0].Name
	if slices.ContainsFunc(list, func(t tab) bool { return t.Name == selected }) {
		d.Tab = selected
	}
	for i := range list {
		list[i].Current = list[i].Name == d.Tab
		list[i].Href = d.path + queryString("q", query, "tab", list[i].Name)
	}
	d.Tabs, d.Actions = list[:views], list[views:]
}

// views returns the tabs that show what was sent.
func (d *entryDetail) views() (list []tab) {
	add := func(name, label string, count int) { list = append(list, tab{Name: name, Label: label, Count: count}) }
	if d.Email != nil {
		add("preview", "Preview", 0)
		add("source", "Source", 0)
		add("text", "Text", 0)
		add("variables", "Variables", 0)
		add("links", "Links", 0)
		add("check", "Check", len(d.Email.check()))
	}
	if d.Push != nil {
		add("preview", "Preview", 0)
	}
	if d.Email != nil || d.Push != nil {
		add("audience", "Audience", 0)
	}
	if d.Trigger != nil {
		add("parameters", "Parameters", len(d.Trigger.Parameters))
	}
	return append(list, tab{Name: "exchange", Label: "Request", Rest: " & response"})
}

// queryString returns the query of a URL without empty values.
func queryString(namesAndValues ...string) string {
	var parts []string
	for i := 0; i < len(namesAndValues); i += 2 {
		if value := namesAndValues[i+1]; value != "" {
			parts = append(parts, namesAndValues[i]+"="+template.URLQueryEscaper(value))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "?" + strings.Join(parts, "&")
}

// noticeable returns how long a request took, if it took long: in memory, all others take no time.
func noticeable(d time.Duration) string {
	if d < 10*time.Millisecond {
		return ""
	}
	return took(d)
}

func took(d time.Duration) string {
	switch {
	case d < time.Millisecond:
		return fmt.Sprintf("%d µs", d.Microseconds())
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	default:
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
}

func newSide(header http.Header, body []byte, notes lineNotes) exchangeSide {
	side := exchangeSide{Empty: len(body) == 0}
	for _, name := range sortedKeys(header) {
		side.Header = append(side.Header, headerLine{name, strings.Join(header[name], ", ")})
	}
	lines, ok := jsonLines(body, notes)
	if ok {
		side.Lines = lines
		return side
	}
	if len(body) > maxShown {
		side.Cut = len(body) - maxShown
		body = body[:maxShown]
	}
	side.Text = validText(body)
	if side.Cut == 0 {
		side.Syntax = newSyntaxError(body)
	}
	return side
}
