package mail

import (
	"net"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/net/html"
)

// What is wrong with a link, in a few words.
const (
	insecure   = "not https"
	scripted   = "javascript"
	local      = "only on this machine"
	nowhere    = "no address"
	relative   = "no host"
	misleading = "shows another host"
)

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
	list = append(list, hostProblems(address(link, "href"))...)
	if isMisleading(link) {
		list = append(list, misleading)
	}
	return list
}

// hostProblems returns what is wrong with the host of an address.
func hostProblems(address string) (list []string) {
	if isRelative(address) {
		list = append(list, relative)
	}
	if isLocal(address) {
		list = append(list, local)
	}
	return list
}

// isRelative reports whether an address lacks the host, or the name of a mailbox, without which an email
// cannot lead anywhere. A placeholder may stand for it. An app may have its own scheme.
func isRelative(address string) bool {
	if address == "" || address[0] == '#' || strings.ContainsAny(address, "{}[]<>*%") {
		return false
	}
	to, err := url.Parse(address)
	if err != nil {
		return true
	}
	switch to.Scheme {
	case "", "http", "https":
		return !isHost(to.Hostname())
	case "mailto", "tel", "sms":
		return to.Opaque == "" || missing.MatchString(to.Opaque)
	case "about", "file":
		return true
	}
	return len(to.Scheme) == 1 || misspelled.MatchString(to.Scheme)
}

// isHost reports whether a text can be the name of a host. Where a variable is empty, a label is missing.
func isHost(name string) bool {
	return name != "" && name[0] != '.' && !strings.HasSuffix(name, ".") && !strings.Contains(name, "..")
}

// missing matches what programs write in place of an address.
var missing = regexp.MustCompile(`^(null|undefined|none|nan)$`)

// misspelled matches what is probably http or https.
var misspelled = regexp.MustCompile(`^(h+t+p+s*|t+ps?|hp+s?|hhttps?)$`)

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
	return err == nil && otherErr == nil && from.Host != "" && to.Host != "" && !strings.EqualFold(from.Host, to.Host)
}

func address(n *html.Node, attributeName string) string {
	return strings.ToLower(strings.TrimSpace(attribute(n, attributeName)))
}
