package generate

import (
	"go/token"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// initialisms are words that are written in capitals. Another one would rename what was
// generated before.
var initialisms = map[string]bool{
	"API": true, "CSV": true, "DNS": true, "FQDN": true, "HTML": true, "HTTP": true, "HTTPS": true, "ID": true, "IP": true,
	"JSON": true, "PDF": true, "PIN": true, "SKU": true, "SMS": true, "SQL": true, "TLS": true, "UI": true, "URI": true,
	"URL": true, "UTC": true, "UUID": true, "VAT": true, "XML": true,
}

// maxName is how many characters a name may have in Go.
const maxName = 100

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

func separates(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) || visible.Hidden(r) }

// scope is a set of Go names that must differ.
type scope struct {
	config   Config
	owners   map[string]string // of Go names, in words
	suffixes []string          // of the names that each name needs: "" and "Params"
	names    map[string]string // the Go names, by their keys in gen.toml
	problems []problem
}

// named is an event or a parameter that needs a Go name.
type named struct{ name, key, called string }

// problem is a name that needs a line in gen.toml.
type problem struct{ key, suggestion, reason string }

func newScope(c Config, suffixes ...string) *scope {
	return &scope{config: c, owners: make(map[string]string), suffixes: suffixes, names: make(map[string]string)}
}

// assign gives each a Go name. Those with a line in gen.toml are first, so that the others
// make way for them.
func (s *scope) assign(all []named) {
	for _, n := range all {
		if renamed, ok := s.config.Rename[n.key]; ok {
			s.claim(n, renamed, renameProblem(renamed))
		}
	}
	for _, n := range all {
		if _, ok := s.config.Rename[n.key]; !ok {
			derived := goName(n.name)
			s.claim(n, derived, nameProblem(n.name, derived))
		}
	}
}

// claim gives n a Go name, or adds a problem with the name.
func (s *scope) claim(n named, name, reason string) {
	if taken, owner := s.conflict(name); reason == "" && owner != "" {
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
	if utf8.RuneCountInString(name) > maxName {
		name = string([]rune(name)[:maxName/3])
	}
	for i := 1; ; i++ {
		free := name
		if i > 1 {
			free += strconv.Itoa(i)
		}
		if _, owner := s.conflict(free); owner == "" {
			return free
		}
	}
}

// nameProblem returns what is wrong with a name of the service that becomes a Go name.
func nameProblem(name, derived string) string {
	switch {
	case strings.ContainsFunc(name, visible.Hidden):
		return "has a character that cannot be seen"
	case derived == "":
		return "has no letter and no digit"
	case utf8.RuneCountInString(derived) > maxName:
		return "is too long for a name in Go"
	}
	return ""
}

// renameProblem returns what is wrong with a Go name of gen.toml.
func renameProblem(name string) string {
	switch {
	case !token.IsExported(name) || !token.IsIdentifier(name) || strings.ContainsFunc(name, visible.Hidden):
		return "cannot be " + visible.Quote(name) + ", which is no exported name in Go"
	case utf8.RuneCountInString(name) > maxName:
		return "has a name that is too long"
	}
	return ""
}
