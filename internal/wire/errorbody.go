package wire

import (
	"cmp"
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

// ReadErrorBody reads the body of an error response. The service does not document the
// shape of the body, so every plausible shape is understood. If the body is truncated,
// ReadErrorBody reads the part that there is.
func ReadErrorBody(body []byte) ErrorBody {
	text := trim(body)
	switch {
	case len(text) == 0:
		return ErrorBody{Form: Empty}
	case text[0] == '<':
		return ErrorBody{Form: Markup}
	}
	r := NewReader()
	defer r.Free()
	r.Reset(body)
	document, err := r.node(0)
	isTree := document.kind == Object || document.kind == Array
	// JSON has to be complete, except for a body that was cut off at MaxErrorBody.
	isJSON := err == nil && r.End() == nil || isTree && len(body) >= MaxErrorBody
	c := collector{ErrorBody: ErrorBody{Form: Text}}
	switch {
	case isJSON && document.member("success").kind == Bool:
		c.Form = FromService
	case isJSON:
		c.Form = JSON
	case !isTree:
		return ErrorBody{Form: Text, Message: plainText(text)}
	}
	if isTree || document.kind == String {
		c.readEnvelope(document, true)
	}
	c.Message = strings.Join(c.messages, "; ")
	return c.ErrorBody
}

// plainText returns text as a string, or "" if it is not UTF-8, such as compressed data.
func plainText(text []byte) string {
	for cut := range min(utf8.UTFMax, len(text)) { // the limit may have split a character
		if whole := text[:len(text)-cut]; utf8.Valid(whole) {
			return string(whole)
		}
	}
	return ""
}

// node is a JSON value. One that is null or too deep has neither a text nor members.
type node struct {
	key     string // if the node is a member of an object
	kind    Kind
	text    string // of a string, number or boolean
	members []node // of an object or array, in document order
}

// maxLevels is how deep the body of an error is read. Without a limit, the path of a mistake
// in it would take many times the memory of the body.
const maxLevels = 100

// node reads the next value. If it is not valid JSON, node also returns what came before.
func (r *Reader) node(level int) (n node, err error) {
	n.kind = r.Kind()
	add := func(key string) error {
		member, err := r.node(level + 1)
		member.key = key
		n.members = append(n.members, member)
		return err
	}
	switch {
	case level > maxLevels:
		err = r.Skip()
	case n.kind == Object:
		err = r.Object(func(key []byte) error { return add(r.keep(key)) })
	case n.kind == Array:
		err = r.Array(func(int) error { return add("") })
	default:
		n.text, err = r.anyText()
	}
	return n, err
}

// member returns the first of the named members that is not empty, or an empty node.
func (n node) member(keys ...string) node {
	for _, key := range keys {
		for _, m := range n.members {
			if m.key == key && (m.text != "" || len(m.members) > 0) {
				return m
			}
		}
	}
	return node{}
}

// scalar returns the text of the first of the named members that has one.
func (n node) scalar(keys ...string) string {
	for _, key := range keys {
		if text := n.member(key).text; text != "" {
			return text
		}
	}
	return ""
}

// problems returns the member that lists what is invalid. Some servers send a list in place
// of a message. Beside other lists, it is about a field of that name.
func (n node) problems() node {
	if problems := n.member("errors", "fields", "details", "invalid-params", "invalid_params", "violations"); problems.kind != noValue {
		return problems
	}
	var lists []node
	for _, m := range n.members {
		if len(m.members) > 0 {
			lists = append(lists, m)
		}
	}
	if len(lists) == 1 && slices.Contains([]string{"message", "messages", "detail"}, lists[0].key) {
		return lists[0]
	}
	return node{}
}

// field returns the field that n, an element of a list of problems, is about.
func (n node) field() string {
	var steps []string
	for _, step := range n.member("loc", "path").members {
		steps = append(steps, step.text)
	}
	return cmp.Or(n.member("source").scalar("pointer", "parameter"), strings.Join(steps, "."),
		n.scalar("field", "name", "path", "param", "property", "propertyPath", "attribute", "pointer", "key", "loc"))
}

// collector collects what the nodes of a document say.
type collector struct {
	ErrorBody
	messages []string // about the request
	size     int      // of all paths, in bytes
}

// isFull reports whether enough was read. Every path repeats all the names above it, so
// without the limit, a body of nested names would take far more memory than its size
// suggests.
func (c *collector) isFull() bool { return c.size > 4*MaxErrorBody }

// path returns the path of a field below another, or "" if c is full.
func (c *collector) path(above, name string) string {
	if c.size += len(above) + len(name); c.isFull() {
		return ""
	}
	return joinPath(above, name)
}

// readEnvelope reads the outermost value, or the value of a member "error" or "data".
func (c *collector) readEnvelope(n node, outermost bool) {
	if n.kind != Object {
		c.read("", n)
		return
	}
	before := len(c.messages) + len(c.Fields)
	message := n.scalar("message", "detail", "error_description", "msg", "title", "reason")
	c.Code = cmp.Or(c.Code, n.scalar("code", "error_code"))
	if len(c.messages) == 0 {
		c.add("", message)
	}
	c.read("", n.problems())
	if outermost {
		c.readEnvelope(n.member("error"), false)
		if data := n.member("data"); data.kind == Object && len(c.Fields) == 0 {
			c.readEnvelope(data, false)
		}
	}
	if message != "" || len(c.messages)+len(c.Fields) > before {
		return
	}
	if outermost { // where other members than lists are rarely fields
		n.members = slices.DeleteFunc(n.members, func(m node) bool { return m.kind != Array })
	}
	c.read("", n)
}

// read reads problems of any shape with the field at path and the fields below it. The keys
// of an object are fields. An element of a list may name its field in a member.
func (c *collector) read(path string, n node) {
	switch n.kind {
	case Object:
		for _, m := range n.members {
			field := c.path(path, m.key)
			if message := m.scalar("message", "msg"); message != "" {
				c.add(field, message)
			} else {
				c.read(field, m)
			}
		}
	case Array:
		for _, m := range n.members {
			field, message := m.field(), m.scalar("message", "msg", "defaultMessage", "reason", "detail", "description", "error", "title")
			switch {
			case message != "":
				c.add(c.path(path, field), message)
			case field != "":
				c.read(c.path(path, field), m.member("messages", "message", "errors"))
			default:
				c.read(path, m)
			}
		}
	default:
		c.add(path, n.text)
	}
}

// add adds a message about a field, or about the request if field is "".
func (c *collector) add(field, message string) {
	switch last := len(c.Fields) - 1; {
	case message == "", c.isFull():
	case field == "":
		c.messages = append(c.messages, message)
	case last >= 0 && c.Fields[last].Field == field:
		c.Fields[last].Messages = append(c.Fields[last].Messages, message)
	default:
		c.Fields = append(c.Fields, Field{Field: field, Messages: []string{message}})
	}
}
