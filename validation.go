package messaging

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// problems collects the problems with the arguments of one call, each under the
// path that the argument has on the wire. A node holds its own step of the path
// only, and add keeps no reference to it, so that it can be allocated on the stack:
// a hundred thousand valid customers allocate none.
type problems struct {
	parent *problems
	name   string
	i      int // the index in a list; -1 for a name
	// The problems, in the root only. They are a linked list because with a slice,
	// escape analysis would put every node on the heap.
	first, last *problem
}

type problem struct {
	path, message string
	next          *problem
}

func (p *problems) in(name string) *problems { return &problems{parent: p, name: name, i: -1} }

func (p *problems) index(i int) *problems { return &problems{parent: p, i: i} }

// add records a problem with field, or with p itself if field is "".
func (p *problems) add(field, message string) {
	root := p
	for root.parent != nil {
		root = root.parent
	}
	path := p.appendPath(nil)
	if field != "" {
		path = appendStep(path, field)
	}
	found := &problem{path: string(path), message: message}
	if root.first == nil {
		root.first = found
	} else {
		root.last.next = found
	}
	root.last = found
}

// appendPath appends the path of p.
func (p *problems) appendPath(path []byte) []byte {
	switch {
	case p.parent == nil:
		return path
	case p.i >= 0:
		return appendStep(p.parent.appendPath(path), strconv.Itoa(p.i))
	default:
		return appendStep(p.parent.appendPath(path), p.name)
	}
}

func appendStep(path []byte, step string) []byte {
	if len(path) > 0 {
		path = append(path, '.')
	}
	return append(path, step...)
}

// text checks a string that may be empty.
func (p *problems) text(field, value string) {
	if !utf8.ValidString(value) {
		p.add(field, "must be valid UTF-8")
	}
}

func (p *problems) requiredText(field, value string) {
	if value == "" {
		p.add(field, "is required")
	}
	p.text(field, value)
}

// email checks an e-mail address that may be empty.
func (p *problems) email(field, value string) {
	p.text(field, value)
	if value != "" && !looksLikeEmail(value) {
		p.add(field, "must be an e-mail address")
	}
}

func (p *problems) requiredEmail(field, value string) {
	if value == "" {
		p.add(field, "is required")
	}
	p.email(field, value)
}

// emails checks a list of e-mail addresses, none of them empty.
func (p *problems) emails(field string, values []string) {
	for i, value := range values {
		p.in(field).index(i).requiredEmail("", value)
	}
}

// none reports whether there are no problems so far. p is the root.
func (p *problems) none() bool { return p.first == nil }

// err returns the problems as an error, nil for none.
func (p *problems) err(op string) error {
	if p.none() {
		return nil
	}
	var fields []FieldError
	for found := p.first; found != nil; found = found.next {
		if last := len(fields) - 1; last >= 0 && fields[last].Field == found.path {
			fields[last].Messages = append(fields[last].Messages, found.message)
		} else {
			fields = append(fields, FieldError{Field: found.path, Messages: []string{found.message}})
		}
	}
	return &ValidationError{Op: op, Fields: fields}
}

// looksLikeEmail reports whether s has one @ with something on both sides, and
// neither white space nor control characters. A stricter check would refuse valid
// addresses.
func looksLikeEmail(s string) bool {
	local, domain, found := strings.Cut(s, "@")
	return found && local != "" && domain != "" && !strings.Contains(domain, "@") &&
		!strings.ContainsFunc(s, isBlankOrControl)
}

func isBlankOrControl(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// joinPath puts a step before a path that may be empty.
func joinPath(step, path string) string {
	if path == "" {
		return step
	}
	return step + "." + path
}
