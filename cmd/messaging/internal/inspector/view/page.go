package view

import (
	"bytes"
	"cmp"
	"embed"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/copies"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

//go:embed templates
var templateFiles embed.FS

// templates are parsed for the first page, since most commands show none.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(functions).ParseFS(templateFiles, "templates/*.html"))
})

var functions = template.FuncMap{
	"took":        took,
	"show":        visible.Prose,
	"raw":         func(text string) string { return visible.JSON(text, visible.Hidden) },
	"thousands":   words.Thousands,
	"plural":      words.Count,
	"date":        words.Time,
	"clock":       words.Clock,
	"zone":        func() string { return time.Now().Format("MST") },
	"recordNames": records.Names,
	"searchKeys":  func() []history.Term { return history.Keys },
	"requestKeys": func() string { return words.List(history.RequestKeys, "and") },
	"delivery":    deliveryTag,
	"expect":      func(f fake.Fault) string { return sandbox.Expect(f, "") },
	"chip":        newChip,
	"term":        func(key, value string) string { return search.Term{Text: key + ":" + value}.String() },
	"capitalized": capitalized,
	"join":        strings.Join,
	"add":         func(a, b int) int { return a + b },
	"tag":         func(class, text string) Tag { return Tag{class, text} },
	"snippet":     func(label, text string) Snippet { return Snippet{label, text} },
	"spaced":      spaced,
	"kinds":       func() []string { return fake.FaultKinds },
	"operations":  service.Served,
	"trigger":     func() *service.Operation { return service.TriggerEvent },
	"sendEmail":   func() *service.Operation { return service.SendEmailBroadcast },
	"presets":     func() []sandbox.Preset { return sandbox.Presets },
	"shell":       copies.ShellQuote,
	"duration":    func(d fake.Duration) string { return time.Duration(d).String() },
}

// Page is what every page shows.
type Page struct {
	Title       string
	Section     string
	Sections    []Section
	OutageUntil time.Time
	State       history.State
	Epoch       string
	Query       string
	Problem     string // with the query
	BaseURL     string
	APIKey      string
	SandboxURL  string
	Theme       string // "light" or "dark", or "" for that of the system
	Wide        bool   // one column in place of a list and a detail
	Reload      bool   // the list is loaded again when something changes
	Filter      bool   // whether the filters are open
	Origin      string // where the records come from
	List
	Overview *Overview // beside a list without a detail
	Detail   any
	// Beside is whether the detail was not asked for: a narrow page shows the list instead.
	Beside bool
	Status int

	box *sandbox.Sandbox
}

// Section is a list that the pages link to.
type Section struct {
	Name, Title, Href string
	Count             int
}

// Sections returns the sections in the order of the pages.
func Sections(box *sandbox.Sandbox) []Section {
	list := []Section{{"requests", "Requests", "/", box.History.State().Requests}}
	for _, kind := range records.Kinds {
		list = append(list, Section{kind.Name, kind.Title(), "/" + kind.Name, box.Records.Count(kind)})
	}
	return append(list, Section{"faults", "Faults", "/faults", len(box.Rules())})
}

// NewPage returns a page of a section.
func NewPage(box *sandbox.Sandbox, section, title string, r *http.Request) *Page {
	p := &Page{Title: title, Section: section, Sections: Sections(box), OutageUntil: box.OutageUntil(), State: box.History.State(),
		Epoch: box.History.Epoch(), Query: r.URL.Query().Get("q"), BaseURL: ServiceURL(box, r), APIKey: box.APIKey(),
		SandboxURL: "http://" + r.Host, Filter: r.URL.Query().Get("filter") == "open", Status: http.StatusOK, box: box}
	if cookie, err := r.Cookie("messaging-sandbox-theme"); err == nil && (cookie.Value == "light" || cookie.Value == "dark") {
		p.Theme = cookie.Value // in a cookie, so that a page never appears in another way first
	}
	return p
}

// ServiceURL returns the URL of the service, with the name by which a request has reached the inspector.
func ServiceURL(box *sandbox.Sandbox, r *http.Request) string {
	_, port, _ := net.SplitHostPort(box.Addr())
	return "http://" + net.JoinHostPort((&url.URL{Host: r.Host}).Hostname(), port)
}

// Write writes a template with the page.
func (p *Page) Write(w http.ResponseWriter, name string) error {
	var b bytes.Buffer
	if err := templates().ExecuteTemplate(&b, name, p); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.Status)
	_, _ = io.Copy(w, &b) // the client may have disconnected
	return nil
}

// ListPath returns the path of the list that the page searches.
func (p *Page) ListPath() string { return cmp.Or(p.Path, "/") }

// Keys returns the keys of a search, with the values that the page offers.
func (p *Page) Keys() []history.Term { return p.box.History.Keys() }
