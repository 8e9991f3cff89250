package mail

import (
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/html"
)

// What is wrong with a link, in a few words.
const (
	insecure   = "not https"
	scripted   = "javascript"
	local      = "only on this machine"
	nowhere    = "no address"
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
