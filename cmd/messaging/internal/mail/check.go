package mail

import (
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// clipped is the size in bytes from which Gmail cuts a message off.
const clipped = 102 << 10

// Check returns what can go wrong with an HTML message in email programs, a line for each.
func Check(message string) (findings []string) {
	add := func(format string, args ...any) { findings = append(findings, fmt.Sprintf(format, args...)) }
	if size := len(message); size > clipped {
		add("The message has %s kB: Gmail clips what is over 102 kB.", words.Thousands(size>>10))
	}
	if !IsHTML(message) {
		return findings
	}
	withoutAlt, insecure := 0, 0
	root := parse(message)
	for n := range root.Descendants() {
		if n.DataAtom == atom.Img && !hasAttribute(n, "alt") {
			withoutAlt++
		}
		if n.DataAtom == atom.A && strings.HasPrefix(strings.ToLower(strings.TrimSpace(attribute(n, "href"))), "http:") {
			insecure++
		}
	}
	if withoutAlt > 0 {
		add("%s without alt: a reader with images switched off sees nothing there.", words.Count(withoutAlt, "image"))
	}
	if insecure > 0 {
		add("%s to http: instead of https:.", words.Count(insecure, "link"))
	}
	if strings.TrimSpace(text(root)) == "" {
		add("There is no plain text: without images, the message is empty.")
	}
	if open := unclosed(message); len(open) > 0 {
		add("Tags that are not closed: %s.", strings.Join(open, ", "))
	}
	return findings
}

// optional are the elements that need no end tag.
var optional = map[string]bool{"html": true, "head": true, "body": true, "p": true, "li": true, "dt": true, "dd": true, "option": true,
	"optgroup": true, "thead": true, "tbody": true, "tfoot": true, "tr": true, "td": true, "th": true, "colgroup": true,
	"rt": true, "rp": true, "area": true, "base": true, "br": true, "col": true, "embed": true, "hr": true, "img": true, "input": true,
	"link": true, "meta": true,
	"source": true, "track": true, "wbr": true}

// unclosed returns the names of the elements that have no end tag, sorted, each once.
func unclosed(message string) (names []string) {
	var open []string
	tokens := html.NewTokenizer(strings.NewReader(message))
	for kind := tokens.Next(); kind != html.ErrorToken; kind = tokens.Next() {
		raw, _ := tokens.TagName()
		name := string(raw)
		switch {
		case kind == html.StartTagToken && !optional[name]:
			open = append(open, name)
		case kind == html.EndTagToken:
			for i := range slices.Backward(open) {
				if open[i] == name {
					names = append(names, open[i+1:]...)
					open = open[:i]
					break
				}
			}
		}
	}
	names = append(names, open...)
	slices.Sort(names)
	return slices.Compact(names)
}
