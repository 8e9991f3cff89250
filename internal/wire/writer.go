package wire

import (
	"bytes"
	"encoding/json"
	"sync"
)

// Writer writes the body of a request. encoding/json writes every value. It writes the
// customers of a broadcast one by one, because together they would take several times the
// memory of the body.
type Writer struct {
	buffer  bytes.Buffer
	encoder *json.Encoder
	err     error // the first one
}

var writers = sync.Pool{New: func() any {
	w := new(Writer)
	w.encoder = json.NewEncoder(&w.buffer)
	w.encoder.SetEscapeHTML(false) // markup in a message stays short
	return w
}}

// NewWriter returns a writer from a pool. Finish returns it.
func NewWriter() *Writer { return writers.Get().(*Writer) }

// maxPooledBody is the size of the largest buffer that is copied and reused.
const maxPooledBody = 16 << 10

// Finish returns the body. w must not be used afterwards.
func (w *Writer) Finish() ([]byte, error) {
	body, err := w.buffer.Bytes(), w.err
	if w.buffer.Cap() > maxPooledBody {
		return body, err
	}
	body = bytes.Clone(body)
	w.buffer.Reset()
	w.err = nil
	writers.Put(w)
	return body, err
}

// Value writes v with encoding/json.
func (w *Writer) Value(v any) {
	if w.err != nil {
		return
	}
	if w.err = w.encoder.Encode(v); w.err == nil {
		w.buffer.Truncate(w.buffer.Len() - len("\n"))
	}
}

// Member adds a member to the object that was written last, which must not be empty.
func (w *Writer) Member(name string, value func()) {
	if w.err != nil {
		return
	}
	w.buffer.Truncate(w.buffer.Len() - len("}"))
	w.buffer.WriteString(`,"` + name + `":`)
	value()
	w.buffer.WriteByte('}')
}

// List writes n elements.
func (w *Writer) List(n int, element func(i int)) {
	start := w.buffer.Len()
	w.buffer.WriteByte('[')
	for i := range n {
		if i > 0 {
			w.buffer.WriteByte(',')
		}
		if i >= sampleSize {
			w.grow(w.buffer.Len()-start, i, n-i)
		}
		element(i)
	}
	w.buffer.WriteByte(']')
}

// sampleSize is the number of elements from which the size of a list is estimated.
const sampleSize = 100

// grow makes space for the rest of a list if the buffer is nearly full. It assumes that the
// remaining elements have the average size of those so far, and adds at most maxGrowth
// bytes.
func (w *Writer) grow(written, elements, rest int) {
	const maxGrowth = 64 << 20
	average := written/elements + 1
	if w.buffer.Available() < 2*average {
		w.buffer.Grow(int(min(int64(rest)*int64(average)*9/8, maxGrowth)))
	}
}
