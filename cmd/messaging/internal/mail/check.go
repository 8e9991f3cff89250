package mail

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Finding is something that can go wrong with an HTML message in email programs.
type Finding struct {
	Severity Severity
	Text     string
	// Affects names the programs, or the readers.
	Affects string
	// At is where the message has the first of it, in bytes, or -1 if that is nowhere in particular.
	At int

	is matcher
}

// Severity is how bad a finding is.
type Severity string

// The severities, the worst first.
const (
	High   Severity = "high"   // readers miss something
	Medium Severity = "medium" // some readers see something else
	Low    Severity = "low"    // it looks a little different
)

var severities = []Severity{High, Medium, Low}

// Whom a finding affects.
const (
	everyone    = "all programs"
	blockers    = "readers who block images"
	spamFilters = "spam filters"
	gmail       = "Gmail"
	outlook     = "Outlook on Windows"
	both        = gmail + ", " + outlook
)

// Clipped is the size in bytes from which Gmail cuts a message off.
const Clipped = 102 << 10

// Check returns what can go wrong with a message of which head is the beginning, the worst first.
func Check(head string, size int) (findings []Finding) {
	if size > Clipped {
		findings = append(findings, Finding{Severity: High, Affects: gmail, At: Clipped,
			Text: "The message has " + words.Thousands(size/1000) + " kB: Gmail cuts off what is over 104 kB (102 KiB)"})
	}
	if !IsHTML(head) {
		return findings
	}
	root := parse(head)
	findings = slices.Concat(findings, checkImages(root), checkLinks(root), checkElements(root), checkStyles(root))
	if strings.TrimSpace(text(root)) == "" {
		findings = append(findings, Finding{Severity: High, Affects: blockers, At: -1,
			Text: "There is no text, so the message is empty"})
	}
	if open, at := unclosed(head); len(open) > 0 && size == len(head) {
		findings = append(findings, Finding{Severity: Low, Affects: everyone, At: at,
			Text: "Tags that are not closed: " + strings.Join(open, ", ")})
	}
	locate(head, findings)
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity))
	})
	return findings
}

// checkImages returns what is wrong with images.
func checkImages(root *html.Node) (findings []Finding) {
	var withoutAlt, attached []string
	for n := range root.Descendants() {
		if n.DataAtom != atom.Img {
			continue
		}
		if !hasAttribute(n, "alt") {
			withoutAlt = append(withoutAlt, attribute(n, "src"))
		}
		if strings.HasPrefix(address(n, "src"), "cid:") {
			attached = append(attached, attribute(n, "src"))
		}
	}
	if withoutAlt != nil {
		findings = append(findings, Finding{Severity: Medium, Affects: blockers, is: element(atom.Img, "src", withoutAlt[0]),
			Text: describe("Image without alt text", "images without alt text", withoutAlt)})
	}
	if attached != nil {
		findings = append(findings, Finding{Severity: High, Affects: everyone, is: element(atom.Img, "src", attached[0]),
			Text: describe("Image with cid: in its address, but nothing is attached",
				"images with cid: in their addresses, but nothing is attached", attached)})
	}
	return findings
}

// checkedLinks says what each problem of a link means.
var checkedLinks = []struct {
	problem  string
	severity Severity
	affects  string
	// one and many are the texts for a link and for several. A %q stands for its address.
	one, many string
}{
	{insecure, Low, "browsers", "Insecure link (http)", "insecure links (http)"},
	{scripted, High, everyone, "Link with javascript: in its address, which is removed",
		"links with javascript: in their addresses, which are removed"},
	{local, High, everyone, "Link to this machine, which nobody else can open", "links to this machine, which nobody else can open"},
	{nowhere, High, everyone, "Link without a destination (href=%q)", "links without a destination"},
	{relative, High, everyone, "Link without a host", "links without a host"},
	{misleading, Medium, spamFilters, "Link whose text is the address of another host, as in phishing",
		"links whose texts are the addresses of other hosts, as in phishing"},
}

// checkLinks returns what is wrong with links.
func checkLinks(root *html.Node) (findings []Finding) {
	examples := make(map[string][]string) // by the problem
	first := make(map[string]string)      // addresses
	for n := range root.Descendants() {
		if n.DataAtom != atom.A {
			continue
		}
		for _, problem := range linkProblems(n) {
			example := attribute(n, "href")
			if len(examples[problem]) == 0 {
				first[problem] = example
			}
			switch problem {
			case nowhere:
				example = quoted(text(n))
			case misleading:
				example = text(n)
			}
			examples[problem] = append(examples[problem], example)
		}
	}
	for _, each := range checkedLinks {
		if found := examples[each.problem]; found != nil {
			findings = append(findings, Finding{Severity: each.severity, Affects: each.affects, is: element(atom.A, "href", first[each.problem]),
				Text: describe(strings.Replace(each.one, "%q", quoted(first[each.problem]), 1), each.many, found)})
		}
	}
	return findings
}

// removedElements are elements that email programs do not show, after caniemail.com.
var removedElements = []struct {
	affects  string
	elements []atom.Atom
}{
	{everyone, []atom.Atom{atom.Embed, atom.Iframe, atom.Object, atom.Script}},
	{both, []atom.Atom{atom.Audio, atom.Svg, atom.Video}},
	{outlook, []atom.Atom{atom.Form}},
}

// checkElements returns the elements that email programs do not show.
func checkElements(root *html.Node) (findings []Finding) {
	has := make(map[atom.Atom]bool)
	for n := range root.Descendants() {
		has[n.DataAtom] = true
	}
	for _, group := range removedElements {
		for _, each := range group.elements {
			if has[each] {
				findings = append(findings, Finding{Severity: High, Affects: group.affects, is: named(each),
					Text: "<" + each.String() + "> is removed"})
			}
		}
	}
	return findings
}

// describe says what is wrong with one thing or with many, and names the first, if it has a name.
func describe(one, many string, examples []string) string {
	const longest = 80
	text, which := one, ": "
	if len(examples) > 1 {
		text, which = words.Thousands(len(examples))+" "+many, ". The first: "
	}
	example := words.Shortened(strings.Join(strings.Fields(examples[0]), " "), longest)
	if example == "" || example == quoted("") {
		return text
	}
	return text + which + example
}

func quoted(text string) string { return `"` + strings.TrimSpace(text) + `"` }

// optional are the elements that need no end tag.
var optional = map[string]bool{"html": true, "head": true, "body": true, "p": true, "li": true, "dt": true, "dd": true, "option": true,
	"optgroup": true, "thead": true, "tbody": true, "tfoot": true, "tr": true, "td": true, "th": true, "colgroup": true,
	"rt": true, "rp": true, "area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true,
	"link": true, "meta": true,
	"source": true, "track": true, "wbr": true}

// start is a start tag and where it is.
type start struct {
	name string
	at   int
}

// unclosed returns the names of the elements that have no end tag, sorted, each once, and where
// the first of them is.
func unclosed(message string) (names []string, at int) {
	var open, found []start
	next := 0
	tokens := html.NewTokenizer(strings.NewReader(message))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		at := next
		next += len(tokens.Raw())
		raw, _ := tokens.TagName()
		name := string(raw)
		switch {
		case kind == html.StartTagToken && !optional[name]:
			open = append(open, start{name, at})
		case kind == html.EndTagToken:
			for i := range slices.Backward(open) {
				if open[i].name == name {
					found = append(found, open[i+1:]...)
					open = open[:i]
					break
				}
			}
		}
	}
	at = len(message)
	for _, each := range append(found, open...) {
		names, at = append(names, each.name), min(at, each.at)
	}
	slices.Sort(names)
	return slices.Compact(names), at
}
