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

// reader reads one JSON document, token by token and in one pass. Every model's
// decode is made of its methods. They leave their target alone on null, take a
// number for a text, and name the path of what they can't read.
type reader struct {
	json  jx.Decoder
	depth int

	// The texts of a row wait here until share gives them one allocation.
	text    []byte
	waiting []waitingText

	body    bytes.Buffer // the answer, where this reader has read it
	limited io.LimitedReader
}

// waitingText is a text for target, or a comma-separated one for names.
type waitingText struct {
	target     *string
	names      *[]string
	start, end int
}

func (w waitingText) give(text string) {
	if w.names == nil {
		*w.target = text
		return
	}
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if *w.names == nil {
			*w.names = make([]string, 0, strings.Count(text, ",")+1)
		}
		*w.names = append(*w.names, name)
	}
}

var readers = sync.Pool{New: func() any { return new(reader) }}

// maxPooledBytes keeps one huge answer from occupying memory for good.
const maxPooledBytes = 4 << 20

func newReader() *reader { return readers.Get().(*reader) }

func (r *reader) free() {
	clear(r.waiting[:cap(r.waiting)])
	r.waiting = r.waiting[:0]
	r.json.ResetBytes(nil)
	if r.body.Cap() > maxPooledBytes || cap(r.text) > maxPooledBytes {
		return
	}
	r.body.Reset()
	readers.Put(r)
}

// reset starts reading document, less a byte order mark, with invalid UTF-8
// replaced by U+FFFD.
func (r *reader) reset(document []byte) {
	document = bytes.TrimPrefix(document, []byte("\uFEFF"))
	if !utf8.Valid(document) {
		document = bytes.ToValidUTF8(document, []byte(replacement))
	}
	r.json.ResetBytes(document)
	r.depth, r.text, r.waiting = 0, r.text[:0], r.waiting[:0]
}

const replacement = string(utf8.RuneError)

// end asks that nothing but white space follows what has been read.
func (r *reader) end() error {
	if r.json.Next() != jx.Invalid || !errors.Is(r.json.Skip(), io.EOF) {
		return errTrailing
	}
	return nil
}

// object reads an object; field reads the value of each key.
func (r *reader) object(field func(key []byte) error) error {
	if r.json.Next() != jx.Object {
		return r.unexpected("an object")
	}
	if err := r.descend(); err != nil {
		return err
	}
	members, err := r.json.ObjIter()
	if err != nil {
		return errSyntax
	}
	for members.Next() {
		if err := field(members.Key()); err != nil {
			return at(string(members.Key()), err)
		}
	}
	if members.Err() != nil {
		return errSyntax
	}
	r.depth--
	return nil
}

// array reads an array; element reads the i-th element.
func (r *reader) array(element func(i int) error) error {
	if r.json.Next() != jx.Array {
		return r.unexpected("a list")
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

func (r *reader) descend() error {
	if r.depth++; r.depth > maxNesting {
		return errNesting
	}
	return nil
}

// null consumes a null, where there is one.
func (r *reader) null() (bool, error) {
	if r.json.Next() != jx.Null {
		return false, nil
	}
	return true, r.scalar(r.json.Null())
}

// string reads a text or a number. The target is set by the next share.
func (r *reader) string(target *string) error { return r.textFor(waitingText{target: target}) }

func (r *reader) textFor(w waitingText) error {
	w.start = len(r.text)
	switch r.json.Next() {
	case jx.String:
		text, err := r.json.StrAppend(r.text)
		if err != nil {
			return errSyntax
		}
		r.text = text
	case jx.Number:
		number, err := r.json.Raw()
		if err != nil {
			return errSyntax
		}
		r.text = append(r.text, number...)
	case jx.Null:
		return r.scalar(r.json.Null())
	default:
		return r.unexpected("a text")
	}
	w.end = len(r.text)
	r.waiting = append(r.waiting, w)
	return nil
}

// share hands out the texts read since the last share, all cut from one string.
func (r *reader) share() { r.shareSince(mark{}) }

// mark is a point between two texts, for a part of a row that is shared apart.
type mark struct{ text, waiting int }

func (r *reader) mark() mark { return mark{len(r.text), len(r.waiting)} }

func (r *reader) shareSince(m mark) {
	shared := string(r.text[m.text:])
	for _, w := range r.waiting[m.waiting:] {
		w.give(shared[w.start-m.text : w.end-m.text])
	}
	r.text, r.waiting = r.text[:m.text], r.waiting[:m.waiting]
}

// plainString reads a text or a number at once, for what is looked at before
// the row is complete.
func (r *reader) plainString() (string, error) {
	m := r.mark()
	err := r.string(nil)
	text := string(r.text[m.text:])
	r.text, r.waiting = r.text[:m.text], r.waiting[:m.waiting]
	return text, err
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

// commaSeparated reads a list of names from one text, or from an array.
func (r *reader) commaSeparated(target *[]string) error {
	*target = nil
	if r.json.Next() != jx.Array {
		return r.textFor(waitingText{names: target})
	}
	return r.array(func(int) error {
		return r.textFor(waitingText{names: target})
	})
}

// integer reads a whole number in any spelling: 20, "20", 20.0, 2e1.
func (r *reader) integer(target *int) error {
	switch r.json.Next() {
	case jx.Null:
		return r.scalar(r.json.Null())
	case jx.Number, jx.String:
	default:
		return r.unexpected("a whole number")
	}
	number, err := r.json.Num()
	if err != nil {
		return errNotWhole
	}
	n, ok := parseWhole(strings.Trim(string(number), `"`))
	if !ok {
		return errNotWhole
	}
	*target = n
	return nil
}

// parseWhole reads a number that may have a point and an exponent. It works on
// the digits, since a float64 would round a fraction away.
func parseWhole(text string) (int, bool) {
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
	switch r.json.Next() {
	case jx.Bool:
		value, err := r.json.Bool()
		*target = value
		return r.scalar(err)
	case jx.Null:
		return r.scalar(r.json.Null())
	case jx.Number:
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
		return r.unexpected("true or false")
	}
}

// strictBoolean reads true or false, and nothing that merely looks like it.
func (r *reader) strictBoolean() (bool, error) {
	if r.json.Next() != jx.Bool {
		return false, r.unexpected("true or false")
	}
	value, err := r.json.Bool()
	return value, r.scalar(err)
}

// anyText reads a text, or whatever stands in its place as it is written.
func (r *reader) anyText() (string, error) {
	if r.json.Next() == jx.String {
		return r.plainString()
	}
	raw, err := r.raw()
	if string(raw) == "null" {
		return "", err
	}
	return string(raw), err
}

// time reads a timestamp. One that can't be understood is kept in extra.
func (r *reader) time(key []byte, target *time.Time, extra *Extra) error {
	if r.json.Next() != jx.String {
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
		extra.drop(key) // what an earlier member of that name left
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

// raw returns the next value as it stands. The bytes belong to the document.
func (r *reader) raw() (jx.Raw, error) {
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

// nesting is how deep the arrays and objects of a sound JSON value go.
func nesting(value []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			depth++
			deepest = max(deepest, depth)
		case c == ']' || c == '}':
			depth--
		}
	}
	return deepest
}

func (r *reader) scalar(err error) error {
	if err != nil {
		return errSyntax
	}
	return nil
}

// unexpected says what the next value should have been.
func (r *reader) unexpected(wanted string) error {
	found := "no value"
	switch r.json.Next() {
	case jx.String:
		found = "a text"
	case jx.Number:
		found = "a number"
	case jx.Null:
		found = "null"
	case jx.Bool:
		found = "true or false"
	case jx.Array:
		found = "a list"
	case jx.Object:
		found = "an object"
	default:
		return errSyntax
	}
	return fmt.Errorf("is %s where %s is due", found, wanted)
}

var (
	errSyntax     = errors.New("is not valid JSON")
	errEmpty      = errors.New("is empty")
	errTrailing   = errors.New("is followed by more text")
	errNesting    = errors.New("is nested too deeply")
	errMissing    = errors.New("is missing")
	errTwice      = errors.New("is there twice")
	errTwoMetas   = errors.New("is there twice, and differs")
	errNotUTF8    = errors.New("is not valid UTF-8")
	errNotWhole   = errors.New("is not a whole number")
	errNotBoolean = errors.New("is a number where true or false is due")
)

// pathError names the place in a document that can't be read.
type pathError struct {
	path string
	err  error
}

func (e *pathError) Error() string { return e.path + " " + e.err.Error() }
func (e *pathError) Unwrap() error { return e.err }

// at puts a step before the path of err. It is called on the way out of a
// failure alone, so a sound document pays nothing for paths.
func at(step string, err error) error {
	if inner, ok := err.(*pathError); ok {
		return &pathError{joinPath(step, inner.path), inner.err}
	}
	return &pathError{step, err}
}

// model is a type that reads itself.
type model[T any] interface {
	*T
	decode(*reader) error
}

// decodeOne reads one model, its texts included.
func decodeOne[T any, M model[T]](r *reader) (T, error) {
	var value T
	m := r.mark()
	err := M(&value).decode(r)
	r.shareSince(m)
	return value, err
}

// readModel reads a document that is one model. On an error, into stays as it was.
func readModel[T any, M model[T]](document []byte, into M) error {
	r := newReader()
	defer r.free()
	r.reset(document)
	value, err := decodeOne[T, M](r)
	if err == nil {
		err = r.end()
	}
	if err == nil {
		*into = value
	}
	return err
}

// unmarshalModel is what every model's UnmarshalJSON does. As encoding/json
// wants it, null changes nothing.
func unmarshalModel[T any, M model[T]](data []byte, into M) error {
	if string(data) == "null" {
		return nil
	}
	if err := readModel(data, into); err != nil {
		return fmt.Errorf("messaging: %w", err)
	}
	return nil
}

// marshalModel is what every model's MarshalJSON does. A member of extra never
// takes the place of a field that was written.
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

// parseTime reads every form of a timestamp that leaves no doubt: with T or a
// blank, in either case, with a fraction of a second after a dot or a comma,
// with any offset. One without a zone is in UTC, as every time of the service is.
func parseTime(text []byte) (time.Time, bool) {
	const shortest, date = len("2006-01-02T15:04:05"), len("2006-01-02")
	if len(text) < shortest {
		return time.Time{}, false
	}
	var room [64]byte
	text = append(room[:0], text...)
	for i, c := range text {
		if 'a' <= c && c <= 'z' {
			text[i] = c - 'a' + 'A'
		}
	}
	if text[date] == ' ' {
		text[date] = 'T'
	}
	form := time.RFC3339 // reads fractions too
	switch {
	case text[len(text)-1] == 'Z', text[len(text)-len(":00")] == ':' && isSign(text[len(text)-len("-00:00")]):
	case isSign(text[len(text)-len("-0000")]):
		form = "2006-01-02T15:04:05Z0700"
	default:
		form = "2006-01-02T15:04:05"
	}
	t, err := time.Parse(form, string(text))
	t = t.UTC()
	if err != nil || t.Year() < 0 || t.Year() > 9999 { // an offset can lead out of what can be written
		return time.Time{}, false
	}
	return t, true
}

func isSign(c byte) bool { return c == '+' || c == '-' }

// formatTime writes t in the given form, or in one that loses nothing where
// that form would. The zero time is "".
func formatTime(t time.Time, form string) string {
	if t.IsZero() {
		return ""
	}
	text := t.UTC().Format(form)
	if again, ok := parseTime([]byte(text)); ok && again.Equal(t) {
		return text
	}
	return t.UTC().Format(time.RFC3339Nano)
}
