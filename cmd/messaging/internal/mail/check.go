package mail

import (
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/html/atom"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Finding is something that can go wrong with a message in email programs.
type Finding struct {
	Severity string
	Text     string
}

// The severities, the worst first.
const (
	High   = "high"   // readers miss something
	Medium = "medium" // some readers see something else
	Low    = "low"    // it looks a little different
)

// clipped is the size in bytes from which Gmail cuts a message off.
const clipped = 102 << 10

// problem is a mistake in an element.
type problem struct {
	severity   string
	noun, what string // "2 links without a host"
}

// The problems, the worst first.
var (
	nowhere  = &problem{High, "link", "without a destination"}
	local    = &problem{High, "link", "to this machine, which nobody else can open"}
	relative = &problem{High, "link", "without a host"}
	loaded   = &problem{High, "image", "loaded over http"}
	noAlt    = &problem{Medium, "image", "without alt text"}
	insecure = &problem{Low, "link", "over http, which is insecure"}

	problems = []*problem{nowhere, local, relative, loaded, noAlt, insecure}
)

// Check returns what can go wrong with a message of which head is the beginning, the worst first.
func Check(head string, size int) (findings []Finding) {
	add := func(severity, text string) { findings = append(findings, Finding{severity, text}) }
	if size > clipped {
		add(High, "The message has "+words.Thousands(size/1000)+" kB: Gmail cuts off what is over 104 kB (102 KiB)")
	}
	if !IsHTML(head) {
		return findings
	}
	if strings.TrimSpace(Text(head)) == "" {
		add(High, "There is no text: readers who block images see an empty message")
	}
	found := mistakes(head)
	for _, p := range problems {
		if addresses := found[p]; len(addresses) > 0 {
			add(p.severity, words.Count(len(addresses), p.noun)+" "+p.what+example(addresses))
		}
	}
	return findings
}

// mistakes returns the addresses of the elements that have each problem.
func mistakes(message string) map[*problem][]string {
	found := make(map[*problem][]string)
	add := func(p *problem, address string) { found[p] = append(found[p], address) }
	for n := range parse(message).Descendants() {
		if to, isLink := attribute(n.Attr, "href"); isLink && n.DataAtom == atom.A { // or else it is an anchor
			add(linkProblem(to), to)
		}
		if n.DataAtom != atom.Img {
			continue
		}
		source := valueOf(n.Attr, "src")
		if linkProblem(source) == insecure {
			add(loaded, source)
		}
		if _, ok := attribute(n.Attr, "alt"); !ok {
			add(noAlt, source)
		}
	}
	return found
}

// example names the first of several, or the only one, by its address, if it has one.
func example(addresses []string) string {
	const longest = 80
	before := ": "
	if len(addresses) > 1 {
		before = ". The first: "
	}
	if address := strings.Join(strings.Fields(addresses[0]), " "); address != "" {
		return before + words.Shortened(address, longest)
	}
	return ""
}

// linkProblem returns what is wrong with the address of a link, or nil.
func linkProblem(address string) *problem {
	address = strings.ToLower(strings.TrimSpace(address))
	to, err := url.Parse(address)
	if err != nil {
		to = new(url.URL)
	}
	ip := net.ParseIP(to.Hostname())
	switch {
	case address == "" || address == "#":
		return nowhere
	case address[0] == '#':
		return nil
	case to.Hostname() == "localhost" || ip != nil && ip.IsLoopback():
		return local
	case hasNoHost(to) && !strings.ContainsAny(address, "{}[]<>*%"): // of a placeholder
		return relative
	case strings.HasPrefix(address, "http:"):
		return insecure
	default:
		return nil
	}
}

// hasNoHost reports whether an address lacks the host, or the name of a mailbox, without which an email cannot lead
// anywhere.
func hasNoHost(to *url.URL) bool {
	switch to.Scheme {
	case "mailto", "tel", "sms":
		return to.Opaque == ""
	default:
		return to.Host == ""
	}
}
