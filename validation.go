package messaging

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// problems collects what is wrong with the arguments of one call, each under
// the path that the argument has on the wire. A node knows only its own step of
// the path, so checking a hundred thousand sound customers writes no path.
type problems struct {
	parent *problems
	name   string
	i      int          // a step by position; -1 for one by name
	found  []FieldError // in the root alone
}

func (p *problems) in(name string) *problems { return &problems{parent: p, name: name, i: -1} }

func (p *problems) index(i int) *problems { return &problems{parent: p, i: i} }

// add records a problem with field, or with p itself where field is "".
func (p *problems) add(field, message string) {
	path := field
	root := p
	for ; root.parent != nil; root = root.parent {
		step := root.name
		if root.i >= 0 {
			step = strconv.Itoa(root.i)
		}
		path = joinPath(step, path)
	}
	if n := len(root.found); n > 0 && root.found[n-1].Field == path {
		root.found[n-1].Messages = append(root.found[n-1].Messages, message)
		return
	}
	root.found = append(root.found, FieldError{Field: path, Messages: []string{message}})
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

// err is nil where nothing was found.
func (p *problems) err(op string) error {
	if len(p.found) == 0 {
		return nil
	}
	return &ValidationError{Op: op, Fields: p.found}
}

// looksLikeEmail asks for one @ with something on both sides and no blanks. Only
// the service can tell more, so a stricter check would refuse good addresses.
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
