package mail

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Finding is something that can go wrong with a message in email programs.
type Finding struct {
	Severity Severity
	Text     string
	// At is where the message has the first of it, in bytes, or -1 if that is nowhere in particular.
	At int
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

// Clipped is the size in bytes from which Gmail cuts a message off.
const Clipped = 102 << 10

// rules find mistakes in elements, each by an attribute, whose value is the example.
var rules = []struct {
	element   atom.Atom
	attribute string
	severity  Severity
	one, many string // what was found
	found     func(value string, attributes []html.Attribute) bool
}{
	{atom.A, "href", High, "Link without a destination", "links without a destination", isLink(nowhere)},
	{atom.A, "href", High, "Link with javascript: in its address, which is removed",
		"links with javascript: in their addresses, which are removed", isLink(scripted)},
	{atom.A, "href", High, "Link to this machine, which nobody else can open",
		"links to this machine, which nobody else can open", isLink(local)},
	{atom.A, "href", High, "Link without a host", "links without a host", isLink(relative)},
	{atom.Img, "src", High, "Image that is loaded over http", "images that are loaded over http",
		func(value string, _ []html.Attribute) bool { return linkProblem(value) == insecure }},
	{atom.Img, "src", Medium, "Image without alt text", "images without alt text",
		func(_ string, attributes []html.Attribute) bool { _, ok := attribute(attributes, "alt"); return !ok }},
	{atom.A, "href", Low, "Insecure link (http)", "insecure links (http)", isLink(insecure)},
}

func isLink(problem string) func(string, []html.Attribute) bool {
	return func(value string, attributes []html.Attribute) bool {
		_, ok := attribute(attributes, "href") // or else it is an anchor
		return ok && linkProblem(value) == problem
	}
}

// Check returns what can go wrong with a message of which head is the beginning, the worst first.
func Check(head string, size int) (findings []Finding) {
	add := func(severity Severity, text string, at int) {
		findings = append(findings, Finding{severity, text, at})
	}
	if size > Clipped {
		add(High, "The message has "+words.Thousands(size/1000)+" kB: Gmail cuts off what is over 104 kB (102 KiB)", Clipped)
	}
	if !IsHTML(head) {
		return findings
	}
	if strings.TrimSpace(Text(head)) == "" {
		add(High, "There is no text: readers who block images see an empty message", -1)
	}
	elements := elementsOf(head)
	for _, rule := range rules {
		count, example, at := 0, "", -1
		for _, e := range elements {
			if value := valueOf(e.Attr, rule.attribute); e.DataAtom == rule.element && rule.found(value, e.Attr) {
				if count++; count == 1 {
					example, at = value, e.at
				}
			}
		}
		if count > 0 {
			add(rule.severity, describe(rule.one, rule.many, count, example), at)
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int {
		return cmp.Compare(slices.Index(severities, a.Severity), slices.Index(severities, b.Severity))
	})
	return findings
}

// element is a start tag, and where it is.
type element struct {
	html.Token
	at int
}

func elementsOf(message string) (list []element) {
	at := 0
	tokens := html.NewTokenizer(strings.NewReader(message))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		size := len(tokens.Raw()) // before the token, which changes it
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			list = append(list, element{tokens.Token(), at})
		}
		at += size
	}
	return list
}

// describe says what is wrong with one thing or with many, and names the first, if it has a name.
func describe(one, many string, count int, example string) string {
	const longest = 80
	text, which := one, ": "
	if count > 1 {
		text, which = words.Thousands(count)+" "+many, ". The first: "
	}
	if example = strings.Join(strings.Fields(example), " "); example == "" {
		return text
	}
	return text + which + words.Shortened(example, longest)
}
