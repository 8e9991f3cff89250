// Package arguments collects the problems with the arguments of a call. It also writes the
// free-form values of the caller as JSON.
package arguments

import (
	"iter"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Problems collects the problems with the arguments of one call, each under the path of the
// argument on the wire. A node holds only its own step of the path, and Add keeps no
// reference to the node, so that it can be allocated on the stack. The validation of a
// hundred thousand valid customers allocates no nodes.
type Problems struct {
	parent *Problems
	name   string
	i      int // the index in a list; -1 for a name
	// The problems are only in the root. They are a linked list because escape analysis
	// would put every node on the heap if they were a slice.
	first, last *problem
}

type problem struct {
	path, message string
	next          *problem
}

// In returns the node of a member of p.
func (p *Problems) In(name string) *Problems { return &Problems{parent: p, name: name, i: -1} }

// Index returns the node of the i-th element of p.
func (p *Problems) Index(i int) *Problems { return &Problems{parent: p, i: i} }

// Add records a problem with field, or with p itself if field is "".
func (p *Problems) Add(field, message string) {
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
func (p *Problems) appendPath(path []byte) []byte {
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

// Text checks a string that may be empty.
func (p *Problems) Text(field, value string) {
	if !utf8.ValidString(value) {
		p.Add(field, "must be valid UTF-8")
	}
}

// RequiredText checks a string that must not be empty.
func (p *Problems) RequiredText(field, value string) {
	if value == "" {
		p.Add(field, "is required")
	}
	p.Text(field, value)
}

// NotBlank checks a string that must not be empty or consist of white space.
func (p *Problems) NotBlank(field, value string) {
	p.RequiredText(field, value)
	if value != "" && strings.TrimSpace(value) == "" {
		p.Add(field, "must not be blank")
	}
}

// OneLine checks a string that can become part of a header of an email.
func (p *Problems) OneLine(field, value string) {
	for i := range len(value) { // faster than strings.ContainsAny, for the names of many customers
		switch value[i] {
		case '\r', '\n', 0:
			p.Add(field, "must not contain a line break or a NUL")
			return
		}
	}
}

// Trimmed checks a string that the service compares with others.
func (p *Problems) Trimmed(field, value string) {
	if strings.TrimSpace(value) != value {
		p.Add(field, "must not begin or end with white space, which the service may remove")
	}
}

// Email checks an email address that may be empty.
func (p *Problems) Email(field, value string) {
	switch {
	case value == "" || IsEmail(value):
	case !utf8.ValidString(value):
		p.Text(field, value)
	case IsEmail(strings.TrimSpace(value)):
		p.Add(field, "must not begin or end with white space")
	default:
		p.Add(field, "must be an email address")
	}
}

// RequiredEmail checks an email address that must not be empty.
func (p *Problems) RequiredEmail(field, value string) {
	if value == "" {
		p.Add(field, "is required")
	}
	p.Email(field, value)
}

// Emails checks a list of email addresses, none of which may be empty.
func (p *Problems) Emails(field string, values []string) {
	for i, value := range values {
		p.In(field).Index(i).RequiredEmail("", value)
	}
}

// None reports whether there are no problems so far. p must be the root.
func (p *Problems) None() bool { return p.first == nil }

// All ranges over the problems in the order in which they were added, each with the path of
// its argument. p must be the root.
func (p *Problems) All() iter.Seq2[string, string] {
	return func(yield func(path, message string) bool) {
		for found := p.first; found != nil; found = found.next {
			if !yield(found.path, found.message) {
				return
			}
		}
	}
}

// IsEmail reports whether s can only be read as one email address: one @ between a local
// part and a domain of labels that are not empty, without white space, control and format
// characters, and without the characters that mail software gives a meaning.
func IsEmail(s string) bool {
	at, label, ascii := -1, 0, true // label is where the last label of the domain begins
	for i := range len(s) {
		switch c := s[i]; {
		case c <= ' ' || c == 0x7F || isSpecialInEmail[c]:
			return false
		case c == '@':
			if at >= 0 || i == 0 {
				return false
			}
			at, label = i, i+1
		case c == '.' && at >= 0:
			if label == i {
				return false
			}
			label = i + 1
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return at > 0 && label < len(s) && (ascii || utf8.ValidString(s) && !strings.ContainsFunc(s, isInvisible))
}

var isSpecialInEmail = func() (special [256]bool) {
	for _, c := range []byte(`<>()[],;:"\`) {
		special[c] = true
	}
	return special
}()

// HasBlank reports whether s has white space or a control character, which can separate
// values.
func HasBlank(s string) bool { return strings.ContainsFunc(s, isBlankOrControl) }

// LowerASCII returns text with the ASCII letters in lower case. strings.ToLower also maps
// some other letters to ASCII, such as the Kelvin sign to k.
func LowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, text)
}

func isBlankOrControl(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

func isInvisible(r rune) bool { return isBlankOrControl(r) || unicode.Is(unicode.Cf, r) }
