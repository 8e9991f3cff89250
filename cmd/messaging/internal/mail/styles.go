package mail

import (
	"regexp"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// ignoredStyles are styles that widespread email programs ignore, after caniemail.com.
var ignoredStyles = []struct {
	affects  string
	severity Severity
	styles   []style
}{
	{both, Medium, []style{
		{"display: grid", regexp.MustCompile(`\bdisplay\s*:\s*(inline-)?grid\b`)},
		{"position", regexp.MustCompile(`[\s;{]position\s*:\s*(absolute|fixed|relative|sticky)\b`)},
		property("transform"),
		{"custom properties", regexp.MustCompile(`[\s;{]--[\w-]+\s*:`)},
	}},
	{both, Low, []style{
		{"@media (prefers-color-scheme)", regexp.MustCompile(`@media[^{]*prefers-color-scheme`)},
		{"@font-face", regexp.MustCompile(`@font-face\b`)},
		property("animation"), property("box-shadow"),
	}},
	{outlook, Medium, []style{
		{"background images", regexp.MustCompile(`\bbackground(-image)?\s*:[^;}]*url\(`)},
		{"display: flex", regexp.MustCompile(`\bdisplay\s*:\s*(inline-)?flex\b`)},
	}},
	{outlook, Low, []style{
		{"gap", regexp.MustCompile(`[\s;{]((row|column)-)?gap\s*:`)},
		{"gradients", regexp.MustCompile(`\b(linear|radial|conic)-gradient\(`)},
		property("border-radius"), property("opacity"),
	}},
}

// style is a style, and how it is written.
type style struct {
	name    string
	written *regexp.Regexp
}

func property(name string) style { return style{name, regexp.MustCompile(`[\s;{]` + name + `\s*:`)} }

var cssComment = regexp.MustCompile(`(?s)/\*.*?\*/`)

// checkStyles returns the styles that email programs ignore.
func checkStyles(root *html.Node) (findings []Finding) {
	text := stylesOf(root)
	for _, group := range ignoredStyles {
		for _, each := range group.styles {
			if each.written.MatchString(text) {
				findings = append(findings, Finding{Severity: group.severity, Affects: group.affects, is: styled(each.written),
					Text: "Ignored style: " + each.name})
			}
		}
	}
	return findings
}

// stylesOf returns the text of all styles of a message.
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
	return styleText(b.String())
}
