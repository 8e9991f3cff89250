package messaging

import (
	"bytes"
	"encoding/json"
	"sync"
)

// bodyWriter writes the body of a request. Every value is written by
// encoding/json, but the customers of a broadcast one by one: in one go, they
// would take several times the memory of the body.
type bodyWriter struct {
	buffer  bytes.Buffer
	encoder *json.Encoder
	err     error // the first
}

var bodyWriters = sync.Pool{New: func() any {
	w := new(bodyWriter)
	w.encoder = json.NewEncoder(&w.buffer)
	w.encoder.SetEscapeHTML(false) // a message full of markup stays readable, and short
	return w
}}

func newBodyWriter() *bodyWriter { return bodyWriters.Get().(*bodyWriter) }

// maxPooledBody is the largest buffer that is worth a copy to be used again.
const maxPooledBody = 16 << 10

// finish returns what was written, and gives up w.
func (w *bodyWriter) finish() ([]byte, error) {
	body, err := w.buffer.Bytes(), w.err
	if w.buffer.Cap() > maxPooledBody {
		return body, err
	}
	body = bytes.Clone(body)
	w.buffer.Reset()
	w.err = nil
	bodyWriters.Put(w)
	return body, err
}

// value writes what encoding/json makes of v.
func (w *bodyWriter) value(v any) {
	if w.err != nil {
		return
	}
	if w.err = w.encoder.Encode(v); w.err == nil {
		w.buffer.Truncate(w.buffer.Len() - len("\n"))
	}
}

// member adds a member to the object that has just been written, which is not
// empty.
func (w *bodyWriter) member(name string, value func()) {
	if w.err != nil {
		return
	}
	w.buffer.Truncate(w.buffer.Len() - len("}"))
	w.buffer.WriteString(`,"` + name + `":`)
	value()
	w.buffer.WriteByte('}')
}

// list writes n elements.
func (w *bodyWriter) list(n int, element func(i int)) {
	start := w.buffer.Len()
	w.buffer.WriteByte('[')
	for i := range n {
		if i > 0 {
			w.buffer.WriteByte(',')
		}
		if i >= fairSample {
			w.makeRoom(w.buffer.Len()-start, i, n-i)
		}
		element(i)
	}
	w.buffer.WriteByte(']')
}

// fairSample is how many elements of a list tell how long the rest will be.
const fairSample = 100

// makeRoom makes room for the rest of a list, if it is like the elements so far,
// where there is none for the next. It goes by so few of them no further than
// maxGuess.
func (w *bodyWriter) makeRoom(written, elements, rest int) {
	const maxGuess = 64 << 20
	average := written/elements + 1
	if w.buffer.Available() < 2*average {
		w.buffer.Grow(int(min(int64(rest)*int64(average)*9/8, maxGuess)))
	}
}
