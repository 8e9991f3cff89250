package mail

import (
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// ignoredStyles are styles that widespread email programs ignore, after caniemail.com.
var ignoredStyles = []struct {
	programs string
	styles   []style
}{
	{"Outlook on Windows ignores", []style{
		{"background images", regexp.MustCompile(`\bbackground(-image)?\s*:[^;}]*url\(`)},
		property("border-radius"), property("opacity"),
		{"display: flex", regexp.MustCompile(`\bdisplay\s*:\s*(inline-)?flex\b`)},
	}},
	{"Gmail and Outlook on Windows ignore", []style{
		property("animation"), property("box-shadow"), property("transform"),
		{"custom properties", regexp.MustCompile(`[\s;{]--[\w-]+\s*:`)},
		{"display: grid", regexp.MustCompile(`\bdisplay\s*:\s*(inline-)?grid\b`)},
		{"position", regexp.MustCompile(`[\s;{]position\s*:\s*(absolute|fixed|relative|sticky)\b`)},
	}},
}

// style is a style, and how it is written.
type style struct {
	name    string
	written *regexp.Regexp
}

func property(name string) style { return style{name, regexp.MustCompile(`[\s;{]` + name + `\s*:`)} }

var cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)

// stylesOf returns the text of all styles of a message, in lower case.
func stylesOf(root *html.Node) string {
	var b strings.Builder
	for n := range root.Descendants() {
		if n.DataAtom == atom.Style && n.FirstChild != nil {
			b.WriteString("\n" + n.FirstChild.Data)
		}
		if inline := attribute(n, "style"); inline != "" {
			b.WriteString("\n" + inline + ";")
		}
	}
	return strings.ToLower(cssComment.ReplaceAllString(b.String(), " "))
}

// checkStyles returns the styles that email programs ignore, a line for each group of them.
func checkStyles(root *html.Node) (findings []string) {
	text := stylesOf(root)
	for _, group := range ignoredStyles {
		var names []string
		for _, each := range group.styles {
			if each.written.MatchString(text) {
				names = append(names, each.name)
			}
		}
		if slices.Sort(names); names != nil {
			findings = append(findings, "Styles that "+group.programs+": "+strings.Join(names, ", ")+".")
		}
	}
	return findings
}
