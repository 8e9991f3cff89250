package wire

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxErrorBody is the number of bytes of an error response that are read and kept.
const MaxErrorBody = 64 << 10

// ErrorBody is what the body of an error response says.
type ErrorBody struct {
	Form    Form
	Code    string
	Message string
	Fields  []Field

	more []string // messages in addition to Message
	// messages holds the messages of all fields. Each field has a part of it.
	messages []string
	size     int // of everything that was read, in bytes
}

// Field is what an error response says about one field of the request.
type Field struct {
	Field    string // its path
	Messages []string
}

// Form is what kind of document a body is.
type Form uint8

// The forms of a body.
const (
	Empty  Form = iota
	Markup      // HTML or XML
	Text        // anything else that is not JSON
	JSON
	FromService // a JSON object with a boolean "success", which only the service sends
)

// joinMessages joins the messages about the request.
func (c *ErrorBody) joinMessages() {
	c.Message = strings.Join(append([]string{c.Message}, c.more...), "; ")
}

// Rewrite replaces every string with what text returns for it.
func (c *ErrorBody) Rewrite(text func(string) string) {
	c.Code, c.Message = text(c.Code), text(c.Message)
	for i, field := range c.Fields {
		c.Fields[i].Field = text(field.Field)
		for j, message := range field.Messages {
			field.Messages[j] = text(message)
		}
	}
}

// isFull reports whether enough was read. Every path repeats all the names above it, so
// without the limit, a body of nested names would take far more memory than its size
// suggests.
func (c *ErrorBody) isFull() bool { return c.size > 4*MaxErrorBody }

// ReadErrorBody reads the body of an error response. The service does not document the
// shape of the body, so every plausible shape is understood. If the body is truncated,
// ReadErrorBody reads the part that there is.
func ReadErrorBody(body []byte) ErrorBody {
	r := NewReader()
	defer r.Free()
	c := ErrorBody{Form: r.form(body)}
	r.Reset(body)
	switch r.Kind() {
	case Object, Array, String:
		t := tree{Reader: r}
		t.read("", 0)
		document := t.nodes[0]
		if success, ok := document.member("success"); ok && success.kind == Bool && c.Form == JSON {
			c.Form = FromService
		}
		c.read(document)
		c.joinMessages()
	default:
		if c.Form == Text {
			c.Message = plainText(body)
		}
	}
	return c
}

// form returns the form of a body. JSON has to be complete, except for a body that was cut
// off at MaxErrorBody.
func (r *Reader) form(body []byte) Form {
	text := trim(body)
	r.Reset(body)
	switch kind := r.Kind(); {
	case len(text) == 0:
		return Empty
	case text[0] == '<':
		return Markup
	case len(body) >= MaxErrorBody && (kind == Object || kind == Array):
		return JSON
	case r.Skip() == nil && r.End() == nil:
		return JSON
	default:
		return Text
	}
}

// plainText returns body as a string, or "" if it is not UTF-8, such as compressed data.
func plainText(body []byte) string {
	text := trim(body)
	for range utf8.UTFMax - 1 { // the limit may have split a character
		if last, size := utf8.DecodeLastRune(text); last == utf8.RuneError && size == 1 {
			text = text[:len(text)-1]
		}
	}
	if !utf8.Valid(text) {
		return ""
	}
	return string(text)
}

// node is a JSON value.
type node struct {
	key   string // if the node is a member of an object
	kind  Kind
	text  string // of a string, number or boolean
	below []node // its members, each followed by its own members, in document order
}

// members ranges over the members or elements of n.
func (n node) members(yield func(node) bool) {
	for rest := n.below; len(rest) > 0; rest = rest[1+len(rest[0].below):] {
		if !yield(rest[0]) {
			return
		}
	}
}

// tree reads a document up to where it is no longer valid JSON.
type tree struct {
	*Reader
	nodes []node
}

// maxLevels is how deep the body of an error is read. Without a limit, the paths of nested
// fields would take many times the memory of the body.
const maxLevels = 100

func (t *tree) read(key string, level int) {
	i := len(t.nodes)
	t.nodes = append(t.nodes, node{key: key, kind: t.Kind()})
	var text string
	if level > maxLevels {
		t.nodes[i].kind = Null
	}
	switch t.nodes[i].kind {
	case Object:
		_ = t.Object(func(key []byte) error {
			t.read(t.keep(key), level+1)
			return nil
		})
	case Array:
		_ = t.Array(func(int) error {
			t.read("", level+1)
			return nil
		})
	case String:
		_ = t.String(&text)
	case Number, Bool:
		raw, _ := t.raw()
		text = string(raw)
	case Null:
		_ = t.Skip()
	}
	t.nodes[i].text, t.nodes[i].below = text, t.nodes[i+1:]
}

// member returns the first of the named members that is not null.
func (n node) member(keys ...string) (node, bool) {
	if n.kind != Object {
		return node{}, false
	}
	for _, key := range keys {
		for m := range n.members {
			if m.key == key {
				if m.kind != Null {
					return m, true
				}
				break
			}
		}
	}
	return node{}, false
}

// scalar returns the first of the named members that is a non-empty scalar.
func (n node) scalar(keys ...string) string {
	for _, key := range keys {
		if m, ok := n.member(key); ok && m.text != "" {
			return m.text
		}
	}
	return ""
}

var (
	messageKeys = []string{"message", "detail", "error_description", "msg", "title", "reason"}
	codeKeys    = []string{"code", "error_code"}
	fieldsKeys  = []string{"errors", "fields", "details", "invalid-params", "invalid_params", "violations"}
	// Some servers send a list where others send a string.
	listKeys = []string{"message", "messages", "detail"}
)

// problems returns the member that lists what is invalid.
func (n node) problems() (node, bool) {
	if problems, ok := n.member(fieldsKeys...); ok {
		return problems, true
	}
	lists := 0
	for m := range n.members {
		if m.kind == Array || m.kind == Object {
			lists++
		}
	}
	if m, ok := n.member(listKeys...); ok && lists == 1 && (m.kind == Array || m.kind == Object) {
		return m, true
	}
	return node{}, false // if there are several lists, their keys are fields
}

// read reads the outermost value.
func (c *ErrorBody) read(n node) {
	if n.kind != Object {
		c.readProblems("", n)
		return
	}
	c.Code, c.Message = n.scalar(codeKeys...), n.scalar(messageKeys...)
	if problems, ok := n.problems(); ok {
		c.readProblems("", problems)
	}
	if inner, ok := n.member("error"); ok {
		c.readInner(inner)
	}
	if inner, ok := n.member("data"); ok && len(c.Fields) == 0 && inner.kind == Object && len(inner.below) > 0 {
		c.readInner(inner)
	}
	if c.Message == "" && len(c.Fields) == 0 {
		c.readFields("", n, true)
	}
}

// readInner reads the value of the member "error" or "data".
func (c *ErrorBody) readInner(n node) {
	if n.kind != Object {
		c.readProblems("", n)
		return
	}
	if c.Code == "" {
		c.Code = n.scalar(codeKeys...)
	}
	message := n.scalar(messageKeys...)
	if c.Message == "" {
		c.Message = message
	}
	if problems, ok := n.problems(); ok {
		c.readProblems("", problems)
	} else if message == "" {
		c.readFields("", n, false)
	}
}

// readProblems reads a list of problems of any shape.
func (c *ErrorBody) readProblems(path string, n node) {
	switch n.kind {
	case Object:
		c.readFields(path, n, false)
	case Array:
		for m := range n.members {
			c.readProblem(path, m)
		}
	default:
		c.addMessage(path, n.text)
	}
}

// readProblem reads one element of a list of problems.
func (c *ErrorBody) readProblem(path string, n node) {
	if n.kind != Object {
		c.readProblems(path, n)
		return
	}
	field, message := n.fieldName(), n.scalar("message", "msg", "defaultMessage", "reason", "detail", "description", "error", "title")
	list, hasList := n.member("messages", "message", "errors")
	switch {
	case message == "" && field != "" && hasList:
		c.readProblems(joinPath(path, field), list)
	case field == "" && message == "":
		c.readFields(path, n, false)
	default:
		c.addMessage(joinPath(path, field), message)
	}
}

// fieldName returns the field that a problem is about.
func (n node) fieldName() string {
	if source, ok := n.member("source"); ok {
		if pointer := source.scalar("pointer", "parameter"); pointer != "" {
			return pointer
		}
	}
	if steps, ok := n.member("loc", "path"); ok && steps.kind == Array {
		var names []string
		for step := range steps.members {
			names = append(names, step.text)
		}
		return strings.Join(names, ".")
	}
	return n.scalar("field", "name", "path", "param", "property", "propertyPath", "attribute", "pointer", "key", "loc")
}

// readFields reads an object whose keys are fields, or only those of its members that are
// lists.
func (c *ErrorBody) readFields(path string, n node, listsOnly bool) {
	for m := range n.members {
		if c.isFull() {
			return
		}
		if listsOnly && m.kind != Array {
			continue
		}
		field := joinPath(path, m.key)
		if message := m.scalar("message", "msg"); message != "" {
			c.addMessage(field, message)
			continue
		}
		c.readProblems(field, m)
	}
}

// addMessage adds a message about a field, or about the request if field is "".
func (c *ErrorBody) addMessage(field, message string) {
	c.size += len(field) + len(message)
	switch {
	case message == "", c.isFull():
	case field == "" && c.Message == "":
		c.Message = message
	case field == "":
		c.more = append(c.more, message)
	case len(c.Fields) > 0 && c.Fields[len(c.Fields)-1].Field == field:
		last := &c.Fields[len(c.Fields)-1]
		last.Messages = c.addTo(last.Messages, message)
	default:
		c.Fields = append(c.Fields, Field{Field: field, Messages: c.addTo(nil, message)})
	}
}

// addTo returns the messages of the last field with one more added.
func (c *ErrorBody) addTo(last []string, message string) []string {
	start := len(c.messages) - len(last)
	c.messages = append(c.messages, message)
	return slices.Clip(c.messages[start:])
}
