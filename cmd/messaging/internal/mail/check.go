package mail

import (
	"fmt"
	"maps"
	"net"
	"net/url"
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
	root := parse(message)
	found := findIn(root)
	for _, each := range []struct {
		examples []string
		noun     string
		text     string
	}{
		{found.withoutAlt, "image", "without alt: a reader with images switched off sees nothing there."},
		{found.attached, "image", "with cid: in the address, but nothing is attached."},
		{found.links[insecure], "link", "to http: instead of https:."},
		{found.links[scripted], "link", "with javascript: in the address, which email programs remove."},
		{found.links[local], "link", "to this machine, which nobody else can open."},
		{found.links[nowhere], "link", "without an address, or only with #."},
		{found.links[misleading], "link", "whose text is the address of another host: spam filters take them for phishing."},
	} {
		if n := len(each.examples); n > 0 {
			add("%s %s%s", words.Count(n, each.noun), each.text, firstOf(each.examples))
		}
	}
	if names := slices.Sorted(maps.Keys(found.removed)); len(names) > 0 {
		add("Elements that email programs remove: %s.", strings.Join(names, ", "))
	}
	findings = append(findings, checkStyles(root)...)
	if strings.TrimSpace(text(root)) == "" {
		add("There is no plain text: without images, the message is empty.")
	}
	if open := unclosed(message); len(open) > 0 {
		add("Tags that are not closed: %s.", strings.Join(open, ", "))
	}
	return findings
}

// firstOf names the first of some findings, if it has a name.
func firstOf(examples []string) string {
	const longest = 80
	example := strings.Join(strings.Fields(examples[0]), " ")
	if runes := []rune(example); len(runes) > longest {
		example = string(runes[:longest]) + "…"
	}
	switch {
	case example == "":
		return ""
	case len(examples) == 1:
		return " It is " + example
	}
	return " The first is " + example
}

// found is what an email has that email programs do not show, by its text or address.
type found struct {
	withoutAlt, attached []string

	links   map[string][]string // by what is wrong with them
	removed map[string]bool     // names of elements
}

// What is wrong with a link, in a few words.
const (
	insecure   = "not https"
	scripted   = "javascript"
	local      = "only on this machine"
	nowhere    = "no address"
	misleading = "shows another host"
)

// findIn looks at a message.
func findIn(root *html.Node) found {
	c := found{links: make(map[string][]string), removed: make(map[string]bool)}
	for n := range root.Descendants() {
		switch n.DataAtom {
		case atom.Img:
			if !hasAttribute(n, "alt") {
				c.withoutAlt = append(c.withoutAlt, attribute(n, "src"))
			}
			if strings.HasPrefix(address(n, "src"), "cid:") {
				c.attached = append(c.attached, attribute(n, "src"))
			}
		case atom.A:
			for _, problem := range linkProblems(n) {
				example := attribute(n, "href")
				if problem == nowhere || problem == misleading {
					example = text(n)
				}
				c.links[problem] = append(c.links[problem], example)
			}
		case atom.Script, atom.Form, atom.Iframe, atom.Object, atom.Embed, atom.Video, atom.Audio, atom.Svg:
			c.removed[n.Data] = true
		}
	}
	return c
}

// linkProblems returns what is wrong with a link.
func linkProblems(link *html.Node) (list []string) {
	switch to := address(link, "href"); {
	case strings.HasPrefix(to, "http:"):
		list = append(list, insecure)
	case strings.HasPrefix(to, "javascript:"):
		list = append(list, scripted)
	case to == "#", to == "" && hasAttribute(link, "href"):
		list = append(list, nowhere)
	}
	if isLocal(address(link, "href")) {
		list = append(list, local)
	}
	if isMisleading(link) {
		list = append(list, misleading)
	}
	return list
}

// isLocal reports whether an address is on the machine of whoever opens it.
func isLocal(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(parsed.Hostname())
	return parsed.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// isMisleading reports whether the text of a link is the address of another host than the
// link's.
func isMisleading(link *html.Node) bool {
	shown := plainURL.FindString(text(link))
	if shown == "" {
		return false
	}
	from, err := url.Parse(shown)
	to, otherErr := url.Parse(address(link, "href"))
	return err == nil && otherErr == nil && to.Host != "" && !strings.EqualFold(from.Host, to.Host)
}

func address(n *html.Node, attributeName string) string {
	return strings.ToLower(strings.TrimSpace(attribute(n, attributeName)))
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
