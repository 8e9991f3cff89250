// Package wire reads and writes the JSON of the service.
package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-faster/jx"
)

// Reader reads one JSON document, token by token and in one pass. The decode methods of the
// models are made of its methods. These do not change their target for a null, accept a
// number as a string, and return errors that name the path of what they cannot read.
type Reader struct {
	json    jx.Decoder
	length  int    // of the document
	kept    int    // elements of lists within rows, and members of Extra
	scratch []byte // a buffer for text

	// Strings and lists of names are short and numerous, so they share memory.
	texts strings.Builder
	names []string

	body    bytes.Buffer // the response, if this reader has read it
	limited io.LimitedReader
}

// Kind is the type of a JSON value. It is declared here so that no other package imports
// package jx.
type Kind = jx.Type

// The types of JSON values.
const (
	noValue = jx.Invalid
	String  = jx.String
	Number  = jx.Number
	Null    = jx.Null
	Bool    = jx.Bool
	Array   = jx.Array
	Object  = jx.Object
)

// Kind returns the type of the next value without reading it.
func (r *Reader) Kind() Kind { return r.json.Next() }

// Short strings share allocations of textsAtOnce bytes, and short lists of names share
// allocations of namesAtOnce names. Keeping one of them keeps at most its allocation in
// memory.
const (
	textsAtOnce = 512 // bytes
	namesAtOnce = 16
)

var readers = sync.Pool{New: func() any { return new(Reader) }}

// Readers with larger buffers are not pooled, so that one huge response does not occupy
// memory permanently.
const maxPooledBytes = 4 << 20

// NewReader returns a reader from a pool. Free returns it.
func NewReader() *Reader { return readers.Get().(*Reader) }

// Free returns the reader to its pool.
func (r *Reader) Free() {
	r.json.ResetBytes(nil)
	r.texts.Reset()
	r.names = nil
	if r.body.Cap() > maxPooledBytes || cap(r.scratch) > maxPooledBytes {
		return
	}
	r.body.Reset()
	readers.Put(r)
}

// Reset prepares r to read document. A byte order mark is removed, and invalid UTF-8 is
// replaced with U+FFFD.
func (r *Reader) Reset(document []byte) {
	document = bytes.TrimPrefix(document, byteOrderMark)
	if !utf8.Valid(document) {
		document = bytes.ToValidUTF8(document, []byte(Replacement))
	}
	r.json.ResetBytes(document)
	r.length, r.kept = len(document), 0
}

var byteOrderMark = []byte("\uFEFF")

// trim returns document without a byte order mark and surrounding white space.
func trim(document []byte) []byte { return bytes.TrimSpace(bytes.TrimPrefix(document, byteOrderMark)) }

// Replacement stands for invalid UTF-8 in what was read.
const Replacement = string(utf8.RuneError)

// End returns an error if anything but white space follows.
func (r *Reader) End() error {
	if r.Kind() != noValue || !errors.Is(r.json.Skip(), io.EOF) {
		return errTrailing
	}
	return nil
}

// Object reads an object. It calls field to read the value of each key.
func (r *Reader) Object(field func(key []byte) error) error {
	if r.Kind() != Object {
		return r.Unexpected("an object")
	}
	var failure error
	err := r.json.ObjBytes(func(_ *jx.Decoder, key []byte) error {
		if err := field(key); err != nil {
			failure = At(string(key), err)
		}
		return failure
	})
	switch {
	case failure != nil:
		return failure
	case err != nil:
		return errSyntax
	}
	return nil
}

// Array reads an array. It calls element to read the i-th element.
func (r *Reader) Array(element func(i int) error) error {
	if r.Kind() != Array {
		return r.Unexpected("an array")
	}
	elements, err := r.json.ArrIter()
	if err != nil {
		return errSyntax
	}
	for i := 0; elements.Next(); i++ {
		if err := element(i); err != nil {
			return At(strconv.Itoa(i), err)
		}
	}
	if elements.Err() != nil {
		return errSyntax
	}
	return nil
}

// A reader keeps at most maxKept elements of lists within rows, and members that a model has
// no field for, together. Without a limit, very short ones would take many times the memory
// of the response.
const maxKept = 250_000

// Count counts an element of a list within a row, or a member of Extra. It must be called
// before it is kept, and returns an error if there are too many.
func (r *Reader) Count() error {
	if r.kept++; r.kept > maxKept {
		return TooLarge("list elements and unknown members", maxKept)
	}
	return nil
}

// Null reads the next value if it is a null, and reports whether it is.
func (r *Reader) Null() (bool, error) {
	if r.Kind() != Null {
		return false, nil
	}
	return true, r.scalar(r.json.Null())
}

// String reads a string or a number.
func (r *Reader) String(target *string) error {
	switch r.Kind() {
	case String:
		text, err := r.json.StrAppend(r.scratch[:0])
		if err != nil {
			return errSyntax
		}
		r.scratch = text
		*target = r.keep(text)
		return nil
	case Number:
		number, err := r.json.Raw()
		if err != nil {
			return errSyntax
		}
		*target = r.keep(number)
		return nil
	case Null:
		return r.scalar(r.json.Null())
	default:
		return r.Unexpected("a string")
	}
}

// keep returns text as a string. A short string shares memory with others, which is safe
// because a strings.Builder never changes what it has written.
func (r *Reader) keep(text []byte) string {
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

// namesIn reads a string of comma-separated names.
func (r *Reader) namesIn(target *[]string) error {
	var text string
	if err := r.String(&text); err != nil || text == "" {
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
		if err := r.Count(); err != nil {
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

// Integer reads an integer in any notation: 20, "20", 20.0, 2e1.
func (r *Reader) Integer(target *int) error {
	if kind := r.Kind(); kind != Number && kind != String && kind != Null {
		return r.Unexpected("an integer")
	}
	raw, err := r.raw()
	if err != nil || string(raw) == "null" {
		return err
	}
	n, ok := parseInteger(string(bytes.Trim(raw, `"`)))
	if !ok {
		return errNotInteger
	}
	*target = n
	return nil
}

// parseInteger reads a JSON number that is an integer. A number with a decimal point or an
// exponent must be exact as a float64.
func parseInteger(text string) (int, bool) {
	const largest = 1 << 53
	if n, err := strconv.Atoi(text); err == nil && text[0] != '+' {
		return n, true
	}
	if !json.Valid([]byte(text)) { // strconv also reads 0x1p4, 1_0 and Inf
		return 0, false
	}
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > min(largest, math.MaxInt) {
		return 0, false
	}
	return int(number), true
}

// Boolean reads true, false, 1 or 0.
func (r *Reader) Boolean(target *bool) error {
	switch r.Kind() {
	case Bool:
		value, err := r.json.Bool()
		*target = value
		return r.scalar(err)
	case Null:
		return r.scalar(r.json.Null())
	case Number:
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
		return r.Unexpected("a boolean")
	}
}

// anyText returns a string, or the JSON of any other value, or "" for a null.
func (r *Reader) anyText() (text string, err error) {
	if r.Kind() == String {
		err = r.String(&text)
		return text, err
	}
	raw, err := r.raw()
	if string(raw) == "null" {
		return "", err
	}
	return string(raw), err
}

// Skip skips a value.
func (r *Reader) Skip() error { return r.scalar(r.json.Skip()) }

// Cursor reads a cursor. It must be valid UTF-8, because it is sent back to the service
// unchanged.
func (r *Reader) Cursor() (string, error) {
	var cursor string
	err := r.String(&cursor)
	if strings.Contains(cursor, Replacement) {
		return "", ErrNotUTF8
	}
	return cursor, err
}

// raw returns the JSON of the next value. The bytes belong to the document.
func (r *Reader) raw() ([]byte, error) {
	raw, err := r.json.Raw()
	if err != nil {
		return nil, errSyntax
	}
	if raw[0] <= ' ' { // as can happen within a list
		raw = bytes.TrimLeft(raw, " \t\r\n")
	}
	return raw, nil
}

func (r *Reader) scalar(err error) error {
	if err != nil {
		return errSyntax
	}
	return nil
}

// Unexpected returns the error for a next value of the wrong kind. It reads a value that is
// not an array or an object, because its first byte does not make it one: "not found" is no
// null.
func (r *Reader) Unexpected(wanted string) error {
	var found string
	switch r.Kind() {
	case String:
		found = "a string"
	case Number:
		found = "a number"
	case Null:
		found = "null"
	case Bool:
		found = "a boolean"
	case Array:
		return fmt.Errorf("is an array, not %s", wanted)
	case Object:
		return fmt.Errorf("is an object, not %s", wanted)
	}
	if found == "" || r.json.Skip() != nil {
		return errSyntax
	}
	return fmt.Errorf("is %s, not %s", found, wanted)
}

// The problems with a document. The text of each follows the path of the value.
var (
	ErrMissing    = errors.New("is missing")
	ErrDuplicate  = errors.New("is duplicated")
	ErrNotUTF8    = errors.New("is not valid UTF-8")
	errSyntax     = errors.New("is not valid JSON")
	errEmpty      = errors.New("is empty")
	errMarkup     = errors.New("is HTML or XML, not JSON")
	errTrailing   = errors.New("is followed by more text")
	errNotInteger = errors.New("is not an integer")
	errNotBoolean = errors.New("is a number, not a boolean")
)

// ErrTooLarge is returned for a document that exceeds a limit.
var ErrTooLarge = errors.New("response too large")

// TooLarge returns ErrTooLarge with a text that names the limit, and what it limits.
func TooLarge(limited string, limit int64) error {
	return limitExceeded(fmt.Sprintf("exceeds the limit of %d %s", limit, limited))
}

type limitExceeded string

func (e limitExceeded) Error() string { return string(e) }
func (e limitExceeded) Unwrap() error { return ErrTooLarge }

// IsNotJSON reports whether err was returned for a document that is not JSON at all.
func IsNotJSON(err error) bool {
	return errors.Is(err, errSyntax) || errors.Is(err, errEmpty) || errors.Is(err, errMarkup) || errors.Is(err, errTrailing)
}

// pathError is an error with the path of the value that cannot be read.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + " " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// At adds a step before the path of err. It is called only after a failure, so paths cost
// nothing otherwise.
func At(step string, err error) error {
	if inner, ok := err.(*pathError); ok {
		return &pathError{joinPath(step, inner.path), inner.err}
	}
	return &pathError{step, err}
}

// joinPath puts a step before a path. Either may be empty.
func joinPath(step, path string) string {
	if step == "" || path == "" {
		return step + path
	}
	return step + "." + path
}
