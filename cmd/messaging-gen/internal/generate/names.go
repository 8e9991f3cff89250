package generate

import (
	"go/token"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// initialisms are words that are written in capitals. Another one would rename what was
// generated before.
var initialisms = map[string]bool{
	"API": true, "CSV": true, "DNS": true, "FQDN": true, "HTML": true, "HTTP": true, "HTTPS": true, "ID": true, "IP": true,
	"JSON": true, "PDF": true, "PIN": true, "SKU": true, "SMS": true, "SQL": true, "TLS": true, "UI": true, "URI": true,
	"URL": true, "UTC": true, "UUID": true, "VAT": true, "XML": true,
}

// goName returns the exported Go name for a name of the service, or "" if there is none.
func goName(name string) string {
	var b strings.Builder
	for word := range strings.FieldsFuncSeq(name, separates) {
		if upper := strings.ToUpper(word); initialisms[upper] {
			b.WriteString(upper)
			continue
		}
		first, size := utf8.DecodeRuneInString(word)
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(word[size:])
	}
	if b.Len() == 0 || token.IsExported(b.String()) {
		return b.String()
	}
	return "N" + b.String() // a digit, or a letter that has no upper case
}

func separates(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// scope is a set of Go names that must differ.
type scope struct {
	rename   map[string]string
	suffixes []string          // of the names that each name needs: "" and "Params"
	owners   map[string]string // of Go names, in words
	names    map[string]string // the Go names, by their keys in gen.json
	problems []problem
}

// named is an event or a parameter that needs a Go name.
type named struct{ name, key, called string }

// problem is a name that needs a line in gen.json.
type problem struct{ key, suggestion, reason string }

func newScope(c Config, suffixes ...string) *scope {
	return &scope{c.Rename, suffixes, make(map[string]string), make(map[string]string), nil}
}

// assign gives each a Go name. Those with a line in gen.json are first, so that the others
// make way for them.
func (s *scope) assign(all []named) {
	for _, n := range all {
		if renamed, ok := s.rename[n.key]; ok {
			s.claim(n, renamed, "cannot be "+strconv.Quote(renamed)+", which is no exported name in Go")
		}
	}
	for _, n := range all {
		if _, ok := s.rename[n.key]; !ok {
			s.claim(n, goName(n.name), "has no letter and no digit")
		}
	}
}

// claim gives n a Go name, or adds a problem with the name: that it is invalid, or taken.
func (s *scope) claim(n named, name, invalid string) {
	reason := ""
	if !token.IsIdentifier(name) || !token.IsExported(name) {
		reason = invalid
	} else if taken, owner := s.conflict(name); owner != "" {
		reason = "needs the name " + taken + ", " + owner
	}
	if reason != "" {
		name = s.suggest(name)
		s.problems = append(s.problems, problem{n.key, name, n.called + " " + reason})
	}
	s.names[n.key] = name
	for _, suffix := range s.suffixes {
		s.owners[name+suffix] = "like " + n.called
	}
}

// conflict returns one of the names that name needs if it is taken, and what has it.
func (s *scope) conflict(name string) (taken, owner string) {
	for _, suffix := range s.suffixes {
		if owner := s.owners[name+suffix]; owner != "" {
			return name + suffix, owner
		}
	}
	return "", ""
}

// suggest returns a free name like the one that is not possible.
func (s *scope) suggest(name string) string {
	name = goName(name)
	if name == "" {
		name = "Unnamed"
	}
	free := name
	for i := 2; ; i++ {
		if _, owner := s.conflict(free); owner == "" {
			return free
		}
		free = name + strconv.Itoa(i)
	}
}
