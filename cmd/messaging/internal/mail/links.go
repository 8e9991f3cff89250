package mail

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html/atom"
)

// Link is a link of a message.
type Link struct {
	URL, Text string
	Problems  []string // in a few words
}

// Links returns the links of a message, in order.
func Links(message string) (links []Link) {
	if !IsHTML(message) {
		for _, url := range plainURL.FindAllString(message, -1) {
			links = append(links, newLink(url, ""))
		}
		return links
	}
	for n := range parse(message).Descendants() {
		if to, ok := attribute(n.Attr, "href"); ok && n.DataAtom == atom.A {
			links = append(links, newLink(to, strings.Join(strings.Fields(text(n)), " ")))
		}
	}
	return links
}

var plainURL = regexp.MustCompile(`https?:/[^\s<>"]*`)

func newLink(to, text string) Link {
	link := Link{URL: to, Text: text}
	if problem := linkProblem(to); problem != "" {
		link.Problems = []string{problem}
	}
	return link
}

// What is wrong with a link, in a few words. All but the last make it a link that no reader can follow.
const (
	nowhere  = "no address"
	scripted = "javascript"
	local    = "only on this machine"
	relative = "no host"
	insecure = "not https"
)

// linkProblem returns what is wrong with the address of a link, or "".
func linkProblem(address string) string {
	address = strings.ToLower(strings.TrimSpace(address))
	switch {
	case address == "" || address == "#":
		return nowhere
	case strings.HasPrefix(address, "javascript:"):
		return scripted
	case isLocal(address):
		return local
	case isRelative(address):
		return relative
	case strings.HasPrefix(address, "http:"):
		return insecure
	default:
		return ""
	}
}

// isLocal reports whether an address is on the machine of whoever opens it.
func isLocal(address string) bool {
	to, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(to.Hostname())
	return to.Scheme == "file" || to.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// isRelative reports whether an address lacks the host, or the name of a mailbox, without which an email cannot lead
// anywhere. A placeholder may stand for it. An app may have its own scheme.
func isRelative(address string) bool {
	if address[0] == '#' || strings.ContainsAny(address, "{}[]<>*%") {
		return false
	}
	to, err := url.Parse(address)
	switch {
	case err != nil:
		return true
	case to.Scheme == "mailto" || to.Scheme == "tel" || to.Scheme == "sms":
		return to.Opaque == ""
	default: // a scheme of a letter is a drive
		return to.Host == "" && (len(to.Scheme) < 2 || strings.HasPrefix(to.Scheme, "http"))
	}
}
