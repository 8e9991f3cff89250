package messaging

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxErrorBody is how much of an error's body is read and kept.
const maxErrorBody = 64 << 10

// complaint is what the body of an error says.
type complaint struct {
	code    string
	message string
	fields  []FieldError
	// messages are those of all fields, in one slice that each has its part of.
	messages []string
	size     int // of all that was taken
}

// rewrite changes every text.
func (c *complaint) rewrite(text func(string) string) {
	c.code, c.message = text(c.code), text(c.message)
	for i, field := range c.fields {
		c.fields[i].Field = text(field.Field)
		for j, message := range field.Messages {
			field.Messages[j] = text(message)
		}
	}
}

// isFull reports whether so much was taken that a body could only be made to
// multiply: nested names are repeated in every path below them.
func (c *complaint) isFull() bool { return c.size > 4*maxErrorBody }

// readComplaint reads the body of an error. The service does not document its
// shape, so every plausible one is understood; of a body cut short, what came.
func readComplaint(body []byte) complaint {
	r := newReader()
	defer r.free()
	r.reset(body)
	switch r.kind() {
	case kindObject, kindArray, kindString:
		var c complaint
		c.read(r.tree())
		return c
	}
	text := plainText(body)
	if text == "" || text[0] == '<' || r.skip() == nil && r.end() == nil { // HTML, or a number
		return complaint{}
	}
	return complaint{message: text}
}

// plainText is body as text, "" where it is something else, such as compressed.
func plainText(body []byte) string {
	text := bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\uFEFF")))
	for range utf8.UTFMax - 1 { // the limit may have cut a character in two
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
	key   string // in the object that it is a member of
	kind  kind
	text  string // of a string, number or boolean
	below []node // its members and theirs, in the order of the document
}

// members ranges over what n has in it.
func (n node) members(yield func(node) bool) {
	for rest := n.below; len(rest) > 0; rest = rest[1+len(rest[0].below):] {
		if !yield(rest[0]) {
			return
		}
	}
}

// tree reads as much of a document as is sound. The nodes are r's.
func (r *reader) tree() node {
	r.readNode("")
	return r.nodes[0]
}

func (r *reader) readNode(key string) {
	i := len(r.nodes)
	r.nodes = append(r.nodes, node{key: key, kind: r.kind()})
	var text string
	switch r.nodes[i].kind {
	case kindObject:
		_ = r.object(func(key []byte) error {
			r.readNode(r.keep(key))
			return nil
		})
	case kindArray:
		_ = r.array(func(int) error {
			r.readNode("")
			return nil
		})
	case kindString:
		_ = r.string(&text)
	case kindNumber, kindBool:
		raw, _ := r.raw()
		text = string(raw)
	case kindNull:
		_, _ = r.null()
	}
	r.nodes[i].text, r.nodes[i].below = text, r.nodes[i+1:]
}

// member returns the first of the named members that says something.
func (n node) member(keys ...string) (node, bool) {
	if n.kind != kindObject {
		return node{}, false
	}
	for _, key := range keys {
		for m := range n.members {
			if m.key == key {
				if m.kind != kindNull {
					return m, true
				}
				break
			}
		}
	}
	return node{}, false
}

// words returns the first of the named members that is a scalar.
func (n node) words(keys ...string) string {
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
	// Some servers put a list where others put a text.
	listKeys = []string{"message", "messages", "detail"}
)

// problems returns the member that lists what is wrong.
func (n node) problems() (node, bool) {
	if problems, ok := n.member(fieldsKeys...); ok {
		return problems, true
	}
	lists := 0
	for m := range n.members {
		if m.kind == kindArray || m.kind == kindObject {
			lists++
		}
	}
	if m, ok := n.member(listKeys...); ok && lists == 1 && (m.kind == kindArray || m.kind == kindObject) {
		return m, true
	}
	return node{}, false // where there are several, they are fields
}

// read takes what it can from the outermost value.
func (c *complaint) read(n node) {
	switch n.kind {
	case kindString:
		c.message = n.text
	case kindArray:
		c.readProblems("", n)
	case kindObject:
		c.code, c.message = n.words(codeKeys...), n.words(messageKeys...)
		if problems, ok := n.problems(); ok {
			c.readProblems("", problems)
		}
		if inner, ok := n.member("error"); ok {
			c.readInner(inner)
		}
		if inner, ok := n.member("data"); ok && len(c.fields) == 0 && inner.kind == kindObject && len(inner.below) > 0 {
			c.readInner(inner)
		}
		if c.message == "" && len(c.fields) == 0 {
			c.readFields("", n, isList)
		}
	}
}

// readInner takes what the member "error" or "data" adds.
func (c *complaint) readInner(n node) {
	if n.kind != kindObject {
		c.readProblems("", n)
		return
	}
	if c.code == "" {
		c.code = n.words(codeKeys...)
	}
	message := n.words(messageKeys...)
	if c.message == "" {
		c.message = message
	}
	if problems, ok := n.problems(); ok {
		c.readProblems("", problems)
	} else if message == "" {
		c.readFields("", n, func(node) bool { return true })
	}
}

// readProblems takes a list of problems, in whatever form it comes.
func (c *complaint) readProblems(path string, n node) {
	switch n.kind {
	case kindObject:
		c.readFields(path, n, func(node) bool { return true })
	case kindArray:
		for m := range n.members {
			c.readProblem(path, m)
		}
	default:
		c.addMessage(path, n.text)
	}
}

// readProblem takes one element of a list of problems.
func (c *complaint) readProblem(path string, n node) {
	if n.kind != kindObject {
		c.readProblems(path, n)
		return
	}
	field, message := n.fieldName(), n.words("message", "msg", "defaultMessage", "reason", "detail", "description", "error", "title")
	list, hasList := n.member("messages", "message", "errors")
	switch {
	case message == "" && field != "" && hasList:
		c.readProblems(strings.TrimPrefix(path+"."+field, "."), list)
	case field == "" && message == "":
		c.readFields(path, n, func(node) bool { return true })
	case path != "" && field != "":
		c.addMessage(path+"."+field, message)
	default:
		c.addMessage(path+field, message)
	}
}

// fieldName returns the field that an element of a list of problems is about.
func (n node) fieldName() string {
	if source, ok := n.member("source"); ok {
		if pointer := source.words("pointer", "parameter"); pointer != "" {
			return pointer
		}
	}
	if steps, ok := n.member("loc", "path"); ok && steps.kind == kindArray {
		var names []string
		for step := range steps.members {
			names = append(names, step.text)
		}
		return strings.Join(names, ".")
	}
	return n.words("field", "name", "path", "param", "property", "propertyPath", "attribute", "pointer", "key", "loc")
}

// readFields takes an object whose keys are fields.
func (c *complaint) readFields(path string, n node, wanted func(node) bool) {
	for m := range n.members {
		if c.isFull() {
			return
		}
		if !wanted(m) {
			continue
		}
		field := m.key
		if path != "" {
			field = path + "." + field
		}
		if message := m.words("message", "msg"); message != "" {
			c.addMessage(field, message)
			continue
		}
		c.readProblems(field, m)
	}
}

func isList(n node) bool { return n.kind == kindArray }

// addMessage adds a message about a field, or about the whole where there is none.
func (c *complaint) addMessage(field, message string) {
	c.size += len(field) + len(message)
	switch {
	case message == "", c.isFull():
	case field == "" && c.message == "":
		c.message = message
	case field == "":
		c.size += len(c.message) // which is copied
		c.message += "; " + message
	case len(c.fields) > 0 && c.fields[len(c.fields)-1].Field == field:
		last := &c.fields[len(c.fields)-1]
		last.Messages = c.addTo(last.Messages, message)
	default:
		c.fields = append(c.fields, FieldError{Field: field, Messages: c.addTo(nil, message)})
	}
}

// addTo adds a message to those of the last field.
func (c *complaint) addTo(last []string, message string) []string {
	start := len(c.messages) - len(last)
	c.messages = append(c.messages, message)
	return slices.Clip(c.messages[start:])
}
