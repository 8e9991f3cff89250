package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Writer writes JSON: the body of a request, and the lines of an export. encoding/json writes
// most values. It does not write the customers of a broadcast, of which there can be very many:
// together they would take several times the memory of the body, and one by one twice the time.
type Writer struct {
	body    []byte
	encoder *json.Encoder // writes to the Writer
	text    string        // what encoding/json writes by reference, which does not allocate
	err     error         // the first one
}

var writers = sync.Pool{New: func() any {
	w := &Writer{body: make([]byte, 0, maxPooledBody)}
	w.encoder = json.NewEncoder(w)
	w.encoder.SetEscapeHTML(false) // markup in a message stays short
	return w
}}

// NewWriter returns a writer from a pool. Finish returns it.
func NewWriter() *Writer { return writers.Get().(*Writer) }

// maxPooledBody is the size of the largest body that is copied, so that its memory is
// reused.
const maxPooledBody = 16 << 10

// Finish returns the body. w must not be used afterwards.
func (w *Writer) Finish() ([]byte, error) {
	body, err := w.body, w.err
	if cap(body) > maxPooledBody {
		return body, err
	}
	body = bytes.Clone(body)
	w.body, w.err = w.body[:0], nil
	writers.Put(w)
	return body, err
}

// WriteTo writes the body to another writer. w is then empty, and keeps its memory.
func (w *Writer) WriteTo(to io.Writer) (int64, error) {
	body, err := w.body, w.err
	w.body, w.err = body[:0], nil
	if err != nil {
		return 0, err
	}
	n, err := to.Write(body)
	return int64(n), err
}

// Write appends what encoding/json writes.
func (w *Writer) Write(p []byte) (int, error) {
	w.body = append(w.body, p...)
	return len(p), nil
}

// Value writes v with encoding/json.
func (w *Writer) Value(v any) {
	if w.err != nil {
		return
	}
	if w.err = w.encoder.Encode(v); w.err == nil {
		w.body = w.body[:len(w.body)-len("\n")]
	}
}

// Text writes a string as Value does.
func (w *Writer) Text(s string) {
	if !isVerbatim(s) {
		w.text = s
		w.Value(&w.text)
		w.text = ""
		return
	}
	w.body = append(w.body, '"')
	w.body = append(w.body, s...)
	w.body = append(w.body, '"')
}

// isVerbatim reports whether encoding/json certainly writes s as it is.
func isVerbatim(s string) bool {
	ascii := true
	for i := range len(s) {
		if c := s[i]; !isVerbatimASCII[c] {
			if c < utf8.RuneSelf {
				return false
			}
			ascii = false
		}
	}
	const separators = "\xE2\x80" // the beginning of U+2028 and U+2029, which it escapes
	return ascii || utf8.ValidString(s) && !strings.Contains(s, separators)
}

// isVerbatimASCII holds the printable ASCII characters that need no escape sequence.
var isVerbatimASCII = func() (verbatim [256]bool) {
	for c := ' '; c <= '~'; c++ {
		verbatim[c] = c != '"' && c != '\\'
	}
	return verbatim
}()

// Begin begins an object. End ends it.
func (w *Writer) Begin() { w.body = append(w.body, '{') }

// End ends an object.
func (w *Writer) End() { w.body = append(w.body, '}') }

// Name begins a member of an object that has not ended. The name needs no escape sequence.
func (w *Writer) Name(name string) {
	if w.body[len(w.body)-1] != '{' {
		w.body = append(w.body, ',')
	}
	w.body = append(w.body, '"')
	w.body = append(w.body, name...)
	w.body = append(w.body, '"', ':')
}

// Key is like Name, for a name that may need escape sequences.
func (w *Writer) Key(name string) {
	if w.body[len(w.body)-1] != '{' {
		w.body = append(w.body, ',')
	}
	w.Text(name)
	w.body = append(w.body, ':')
}

// Raw writes a value that encoding/json has written.
func (w *Writer) Raw(value []byte) { w.body = append(w.body, value...) }

// TextMember writes a member that is a string.
func (w *Writer) TextMember(name, s string) {
	w.Name(name)
	w.Text(s)
}

// TimeMember writes a member that is a time as FormatTime returns it, unless there is none.
func (w *Writer) TimeMember(name string, t time.Time, form string) {
	if t.IsZero() {
		return
	}
	w.Name(name)
	w.body = append(w.body, '"')
	w.body = AppendTime(w.body, t, form)
	w.body = append(w.body, '"')
}

// Member adds a member to the object that was written last, which must not be empty.
func (w *Writer) Member(name string, value func()) {
	if w.err != nil {
		return
	}
	w.body = w.body[:len(w.body)-len("}")]
	w.Name(name)
	value()
	w.End()
}

// List writes n elements.
func (w *Writer) List(n int, element func(i int)) {
	start := len(w.body)
	w.body = append(w.body, '[')
	for i := range n {
		if i > 0 {
			w.body = append(w.body, ',')
		}
		if i >= sampleSize {
			w.grow(len(w.body)-start, i, n-i)
		}
		element(i)
	}
	w.body = append(w.body, ']')
}

// sampleSize is the number of elements from which the size of a list is estimated.
const sampleSize = 100

// grow makes space for the rest of a list if the body has nearly filled its memory. It
// assumes that the remaining elements have the average size of those so far, and adds at
// most maxGrowth bytes.
func (w *Writer) grow(written, elements, rest int) {
	const maxGrowth = 64 << 20
	average := written/elements + 1
	if cap(w.body)-len(w.body) < 2*average {
		more := int(min(int64(rest)*int64(average)*9/8, maxGrowth))
		grown := make([]byte, len(w.body), len(w.body)+more)
		copy(grown, w.body)
		w.body = grown
	}
}
