package messaging

import (
	"bytes"
	"encoding/json"
	"sync"
)

// bodyWriter writes the body of a request. Every value is written by
// encoding/json, but a long list element by element: in one go, that would take
// several times the memory of the body.
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

// finish returns what was written, and gives up w.
func (w *bodyWriter) finish() ([]byte, error) {
	body, err := w.buffer.Bytes(), w.err
	if w.buffer.Cap() > maxPooledBytes {
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

// list writes n elements. The first of them tell how much room the rest will
// need, which is then made at once.
func (w *bodyWriter) list(n int, element func(i int)) {
	const sample = 100
	start := w.buffer.Len()
	w.buffer.WriteByte('[')
	for i := range n {
		if i == sample {
			average := (w.buffer.Len() - start) / sample
			w.buffer.Grow((n - sample) * (average + average/8))
		}
		if i > 0 {
			w.buffer.WriteByte(',')
		}
		element(i)
	}
	w.buffer.WriteByte(']')
}
