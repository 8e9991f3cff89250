package messaging

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

// reader reads one JSON document, token by token and in one pass. The decode methods
// of the models consist of its methods, which leave their target unchanged on null,
// read a number as a string, and name the path of what they can't read.
type reader struct {
	json     jx.Decoder
	depth    int
	length   int    // of the document
	elements int    // of all lists within rows
	scratch  []byte // of text

	// Strings and lists of names are short and many, so they share memory.
	texts strings.Builder
	names []string

	nodes []node // of the body of an error

	body    bytes.Buffer // the response, if this reader has read it
	limited io.LimitedReader
}

// kind is the type of a JSON value. No other file imports package jx.
type kind = jx.Type

const (
	noValue    = jx.Invalid
	kindString = jx.String
	kindNumber = jx.Number
	kindNull   = jx.Null
	kindBool   = jx.Bool
	kindArray  = jx.Array
	kindObject = jx.Object
)

// kind returns the type of the next value, and reads nothing.
func (r *reader) kind() kind { return r.json.Next() }

// Strings of up to textsAtOnce bytes, and lists of up to namesAtOnce names, share an
// allocation. Keeping one of them keeps no more than that in memory.
const (
	textsAtOnce = 512 // bytes
	namesAtOnce = 16
)

var readers = sync.Pool{New: func() any { return new(reader) }}

// Larger buffers are not pooled, so that one huge response does not occupy memory
// permanently.
const (
	maxPooledBytes = 4 << 20
	maxPooledNodes = maxPooledBytes / 64 // bytes each
)

func newReader() *reader { return readers.Get().(*reader) }

func (r *reader) free() {
	r.json.ResetBytes(nil)
	r.texts.Reset()
	r.names = nil
	clear(r.nodes)
	r.nodes = r.nodes[:0]
	if r.body.Cap() > maxPooledBytes || cap(r.scratch) > maxPooledBytes || cap(r.nodes) > maxPooledNodes {
		return
	}
	r.body.Reset()
	readers.Put(r)
}

// reset starts reading document, without a byte order mark, and with invalid UTF-8
// replaced by U+FFFD.
func (r *reader) reset(document []byte) {
	document = bytes.TrimPrefix(document, []byte("\uFEFF"))
	if !utf8.Valid(document) {
		document = bytes.ToValidUTF8(document, []byte(replacement))
	}
	r.json.ResetBytes(document)
	r.depth, r.length, r.elements = 0, len(document), 0
}

const replacement = string(utf8.RuneError)

// end requires that only white space follows.
func (r *reader) end() error {
	if r.kind() != noValue || !errors.Is(r.json.Skip(), io.EOF) {
		return errTrailing
	}
	return nil
}

// object reads an object; field reads the value of each key.
func (r *reader) object(field func(key []byte) error) error {
	if r.kind() != kindObject {
		return r.unexpected("an object")
	}
	if err := r.descend(); err != nil {
		return err
	}
	var failure error
	err := r.json.ObjBytes(func(_ *jx.Decoder, key []byte) error {
		if err := field(key); err != nil {
			failure = at(string(key), err)
		}
		return failure
	})
	switch {
	case failure != nil:
		return failure
	case err != nil:
		return errSyntax
	}
	r.depth--
	return nil
}

// array reads an array; element reads the i-th element.
func (r *reader) array(element func(i int) error) error {
	if r.kind() != kindArray {
		return r.unexpected("an array")
	}
	if err := r.descend(); err != nil {
		return err
	}
	elements, err := r.json.ArrIter()
	if err != nil {
		return errSyntax
	}
	for i := 0; elements.Next(); i++ {
		if err := element(i); err != nil {
			return at(strconv.Itoa(i), err)
		}
	}
	if elements.Err() != nil {
		return errSyntax
	}
	r.depth--
	return nil
}

// A document may have maxElements elements in all the lists within its rows, or one
// for every bytesPerElement bytes if that is more. Without a limit, the shortest
// elements would take many times the memory of the response.
const (
	maxElements     = 250_000
	bytesPerElement = 32
)

// countElement is called before an element is added to a list within a row.
func (r *reader) countElement() error {
	most := max(maxElements, r.length/bytesPerElement)
	if r.elements++; r.elements > most {
		return fmt.Errorf("exceeds the limit of %d list elements: %w", most, ErrTooLarge)
	}
	return nil
}

func (r *reader) descend() error {
	if r.depth++; r.depth > maxNesting {
		return errNesting
	}
	return nil
}

// null reads a null, if it is the next value.
func (r *reader) null() (bool, error) {
	if r.kind() != kindNull {
		return false, nil
	}
	return true, r.scalar(r.json.Null())
}

// string reads a string or a number.
func (r *reader) string(target *string) error {
	switch r.kind() {
	case kindString:
		text, err := r.json.StrAppend(r.scratch[:0])
		if err != nil {
			return errSyntax
		}
		r.scratch = text
		*target = r.keep(text)
		return nil
	case kindNumber:
		number, err := r.json.Raw()
		if err != nil {
			return errSyntax
		}
		*target = r.keep(number)
		return nil
	case kindNull:
		return r.scalar(r.json.Null())
	default:
		return r.unexpected("a string")
	}
}

// keep returns text as a string, which shares memory with others if it is short. A
// strings.Builder never changes what it has written.
func (r *reader) keep(text []byte) string {
	if len(text) > textsAtOnce/4 {
		return string(text)
	}
	if r.texts.Cap()-r.texts.Len() < len(text) {
		r.texts.Reset()
		r.texts.Grow(min(textsAtOnce, r.length))
	}
	start := r.texts.Len()
	r.texts.Write(text)
	return r.texts.String()[start:]
}

// optionalString keeps the difference between null and "".
func (r *reader) optionalString(target **string) error {
	*target = nil
	if null, err := r.null(); null {
		return err
	}
	*target = new(string)
	return r.string(*target)
}

// commaSeparated reads a list of names from a string, or from an array.
func (r *reader) commaSeparated(target *[]string) error {
	*target = nil
	if r.kind() != kindArray {
		return r.namesIn(target)
	}
	return r.array(func(int) error {
		var names []string
		err := r.namesIn(&names)
		*target = append(*target, names...)
		return err
	})
}

// namesIn reads a string of names that are separated by commas.
func (r *reader) namesIn(target *[]string) error {
	var text string
	if err := r.string(&text); err != nil || text == "" {
		return err
	}
	var names []string
	most := strings.Count(text, ",") + 1
	if most <= namesAtOnce {
		if cap(r.names)-len(r.names) < most {
			r.names = make([]string, 0, namesAtOnce)
		}
		names = r.names[len(r.names):]
	}
	for more := true; more; {
		var name string
		name, text, more = strings.Cut(text, ",")
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if err := r.countElement(); err != nil {
			return err
		}
		names = append(names, name)
	}
	if most <= namesAtOnce {
		r.names = r.names[:len(r.names)+len(names)]
	}
	if len(names) > 0 {
		*target = slices.Clip(names)
	}
	return nil
}

// integer reads an integer in any spelling: 20, "20", 20.0, 2e1.
func (r *reader) integer(target *int) error {
	switch r.kind() {
	case kindNull:
		return r.scalar(r.json.Null())
	case kindNumber, kindString:
	default:
		return r.unexpected("an integer")
	}
	number, err := r.json.Num()
	if err != nil {
		return errNotInteger
	}
	n, ok := parseInteger(strings.Trim(string(number), `"`))
	if !ok {
		return errNotInteger
	}
	*target = n
	return nil
}

// parseInteger reads a number that may have a point and an exponent. It works on the
// digits, since a float64 would round a fraction.
func parseInteger(text string) (int, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		return n, true
	}
	text, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	shift, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if err != nil {
		return 0, false
	}
	whole, fraction, _ := strings.Cut(text, ".")
	digits := strings.TrimRight(whole+fraction, "0")
	shift += len(whole+fraction) - len(digits) - len(fraction)
	if strings.Trim(digits, "-0") == "" {
		return 0, true
	}
	const mostDigits = 19 // of an int64
	if shift < 0 || shift > mostDigits {
		return 0, false
	}
	n, err := strconv.Atoi(digits + strings.Repeat("0", shift))
	return n, err == nil
}

// boolean reads true, false, 1 or 0.
func (r *reader) boolean(target *bool) error {
	switch r.kind() {
	case kindBool:
		value, err := r.json.Bool()
		*target = value
		return r.scalar(err)
	case kindNull:
		return r.scalar(r.json.Null())
	case kindNumber:
		number, err := r.json.Raw()
		if err != nil {
			return errSyntax
		}
		*target = string(number) == "1"
		if !*target && string(number) != "0" {
			return errNotBoolean
		}
		return nil
	default:
		return r.unexpected("a boolean")
	}
}

// strictBoolean reads true or false, and nothing similar.
func (r *reader) strictBoolean() (bool, error) {
	if r.kind() != kindBool {
		return false, r.unexpected("a boolean")
	}
	value, err := r.json.Bool()
	return value, r.scalar(err)
}

// anyText reads a string, or the JSON of any other value.
func (r *reader) anyText() (text string, err error) {
	if r.kind() == kindString {
		err = r.string(&text)
		return text, err
	}
	raw, err := r.raw()
	if string(raw) == "null" {
		return "", err
	}
	return string(raw), err
}

// time reads a timestamp. One that can't be read is kept in extra.
func (r *reader) time(key []byte, target *time.Time, extra *Extra) error {
	if r.kind() != kindString {
		*target = time.Time{}
		if null, err := r.null(); null {
			return err
		}
		return r.extra(key, extra)
	}
	text, err := r.json.StrBytes()
	if err != nil {
		return errSyntax
	}
	var ok bool
	if *target, ok = parseTime(text); ok {
		extra.drop(key) // of an earlier duplicate
		return nil
	}
	raw, err := json.Marshal(string(text))
	extra.keep(key, raw)
	return err
}

// extra keeps a member that the model has no field for.
func (r *reader) extra(key []byte, extra *Extra) error {
	raw, err := r.raw()
	if err != nil {
		return err
	}
	extra.keep(key, raw)
	return nil
}

func (e *Extra) keep(key, raw []byte) {
	if *e == nil {
		*e = make(Extra)
	}
	(*e)[string(key)] = slices.Clone(raw)
}

func (e *Extra) drop(key []byte) {
	if delete(*e, string(key)); len(*e) == 0 {
		*e = nil
	}
}

func (r *reader) skip() error {
	_, err := r.raw()
	return err
}

// raw returns the JSON of the next value. The bytes belong to the document.
func (r *reader) raw() ([]byte, error) {
	raw, err := r.json.Raw()
	if err != nil {
		return nil, errSyntax
	}
	if raw[0] <= ' ' { // within a list
		raw = bytes.TrimLeft(raw, " \t\r\n")
	}
	if (raw[0] == '{' || raw[0] == '[') && r.depth+nesting(raw) > maxNesting {
		return nil, errNesting
	}
	return raw, nil
}

// nesting returns the depth of the arrays and objects of a valid JSON value.
func nesting(value []byte) int {
	depth, deepest := 0, 0
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '"':
			i += closingQuote(value[i:])
		case '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ']', '}':
			depth--
		}
	}
	return deepest
}

// closingQuote returns the offset of the end of the string that value starts with.
func closingQuote(value []byte) int {
	for end := 1; ; end++ {
		end += bytes.IndexByte(value[end:], '"')
		backslashes := 0
		for value[end-1-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 0 {
			return end
		}
	}
}

// shallow reports whether document is valid JSON, and returns it with the arrays
// and objects of level maxNesting+2 replaced by a number. What is left is still
// nested too deeply for a model, but not for package jx.
func (r *reader) shallow(document []byte) (short []byte, valid bool) {
	s := skimmer{json: &r.json, text: bytes.TrimPrefix(document, []byte("\uFEFF"))}
	switch {
	case !s.skim():
		return nil, false
	case s.short == nil:
		return s.text, true
	default:
		return append(s.short, s.text[s.done:]...), true
	}
}

// skimmer reads a document of any depth, without recursion. Package jx refuses
// more than 10,000 levels.
type skimmer struct {
	json  *jx.Decoder // reads what is neither an array nor an object
	text  []byte
	next  int    // the offset that the skimmer has reached
	open  []byte // the brackets that are due, the innermost last
	cut   int    // the offset of the value that is being replaced
	done  int    // the offset up to which text is in short
	short []byte // nil if nothing was replaced
}

// skim reports whether the text is one JSON value.
func (s *skimmer) skim() bool {
	const element, firstOrEnd, commaOrEnd = 0, 1, 2
	for due := element; ; {
		switch c := s.peek(); {
		case due != element && c == s.open[len(s.open)-1]:
			s.leave()
			due = commaOrEnd
		case due == commaOrEnd && c == ',':
			s.next++
			due = element
		case due == commaOrEnd || !s.name():
			return false
		case s.enter():
			due = firstOrEnd
		case s.scalar():
			due = commaOrEnd
		default:
			return false
		}
		if len(s.open) == 0 {
			s.peek()
			return s.next == len(s.text)
		}
	}
}

// peek returns the next byte that is not white space, 0 at the end.
func (s *skimmer) peek() byte {
	for ; s.next < len(s.text); s.next++ {
		switch c := s.text[s.next]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// name reads the name and the colon before a value in an object.
func (s *skimmer) name() bool {
	if len(s.open) == 0 || s.open[len(s.open)-1] == ']' {
		return true
	}
	if s.peek() != '"' || !s.scalar() || s.peek() != ':' {
		return false
	}
	s.next++
	return true
}

// enter reads the bracket that opens an array or an object, if it is the next byte.
func (s *skimmer) enter() bool {
	end := s.peek() + 2 // of '[' it is ']', and of '{' it is '}'
	if end != ']' && end != '}' {
		return false
	}
	if len(s.open) == maxNesting+1 {
		s.cut = s.next
	}
	s.open = append(s.open, end)
	s.next++
	return true
}

// leave reads the bracket that closes the innermost array or object.
func (s *skimmer) leave() {
	s.open = s.open[:len(s.open)-1]
	s.next++
	if len(s.open) == maxNesting+1 {
		s.short = append(append(s.short, s.text[s.done:s.cut]...), '0')
		s.done = s.next
	}
}

// scalar reads a value other than an array and an object.
func (s *skimmer) scalar() bool {
	s.json.ResetBytes(s.text[s.next:])
	raw, err := s.json.Raw()
	s.next += len(raw)
	return err == nil
}

func (r *reader) scalar(err error) error {
	if err != nil {
		return errSyntax
	}
	return nil
}

// unexpected returns the error for a next value of the wrong kind.
func (r *reader) unexpected(wanted string) error {
	found := "no value"
	switch r.kind() {
	case kindString:
		found = "a string"
	case kindNumber:
		found = "a number"
	case kindNull:
		found = "null"
	case kindBool:
		found = "a boolean"
	case kindArray:
		found = "an array"
	case kindObject:
		found = "an object"
	default:
		return errSyntax
	}
	return fmt.Errorf("is %s, want %s", found, wanted)
}

var (
	errSyntax      = errors.New("is not valid JSON")
	errEmpty       = errors.New("is empty")
	errTrailing    = errors.New("is followed by more text")
	errNesting     = errors.New("is nested too deeply")
	errMissing     = errors.New("is missing")
	errDuplicate   = errors.New("is duplicated")
	errMetasDiffer = errors.New("is duplicated, and the copies differ")
	errNotUTF8     = errors.New("is not valid UTF-8")
	errNotInteger  = errors.New("is not an integer")
	errNotBoolean  = errors.New("is a number, want a boolean")
)

// pathError is an error with the path of what can't be read.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + " " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// at adds a step in front of the path of err. It is called only after a failure, so
// that paths cost nothing otherwise.
func at(step string, err error) error {
	if inner, ok := err.(*pathError); ok {
		return &pathError{joinPath(step, inner.path), inner.err}
	}
	return &pathError{step, err}
}

// model is a type that reads itself from JSON.
type model[T any] interface {
	*T
	decode(*reader) error
}

// readModel reads a document that is one model. On an error, into is unchanged.
func readModel[T any, M model[T]](document []byte, into M) error {
	r := newReader()
	defer r.free()
	r.reset(document)
	var value T
	err := M(&value).decode(r)
	if err == nil {
		err = r.end()
	}
	if err == nil {
		*into = value
	}
	return err
}

// unmarshalModel implements UnmarshalJSON of the models. As encoding/json requires,
// null changes nothing.
func unmarshalModel[T any, M model[T]](data []byte, into M) error {
	if string(data) == "null" {
		return nil
	}
	if err := readModel(data, into); err != nil {
		return fmt.Errorf("messaging: %w", err)
	}
	return nil
}

// marshalModel implements MarshalJSON of the models. A member of extra never replaces
// a field.
func marshalModel(body any, extra Extra) ([]byte, error) {
	written, err := json.Marshal(body)
	if err != nil || len(extra) == 0 {
		return written, err
	}
	members := make(map[string]json.RawMessage)
	if err := json.Unmarshal(written, &members); err != nil {
		return nil, err
	}
	for key, value := range extra {
		if _, taken := members[key]; !taken {
			members[key] = value
		}
	}
	return json.Marshal(members)
}
