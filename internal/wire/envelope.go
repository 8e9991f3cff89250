package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// maxFirstBuffer is the largest buffer that is allocated for a Content-Length.
const maxFirstBuffer = 1 << 20

// Fetch reads the body of a response, and reports whether the body exceeds the limit.
func (r *Reader) Fetch(resp *http.Response, limit int64) (tooLarge bool, err error) {
	if resp.ContentLength > 0 {
		r.body.Grow(int(min(resp.ContentLength, limit, maxFirstBuffer)) + bytes.MinRead)
	}
	r.limited = io.LimitedReader{R: resp.Body, N: limit + 1}
	n, err := r.body.ReadFrom(&r.limited)
	r.limited.R = nil
	return n > limit, err
}

// Body returns what Fetch has read. It belongs to the reader.
func (r *Reader) Body() []byte { return r.body.Bytes() }

// Envelope is a response of the service, without the rows of a list.
type Envelope struct {
	Success bool
	Message string
	// Data is the member "data". It is nil for a list, whose data is read as rows.
	Data json.RawMessage
	// Meta is the member "meta", or nil if there is none. It is nil for a list, whose meta is
	// read with the rows.
	Meta json.RawMessage
	// DataErr is set if only the data cannot be read.
	DataErr error
}

// WholeResponse is the path of a problem with the response as a whole.
const WholeResponse = "the response"

// IsForeign reports whether err was returned for a response that is not JSON, so that it is
// probably not from the service.
func IsForeign(err error) bool {
	at, ok := err.(*pathError)
	return ok && at.path == WholeResponse && (at.err == errEmpty || at.err == errMarkup || at.err == errSyntax)
}

// Rows reads the rows of a list, and its meta in either place.
type Rows interface {
	ReadData(*Reader) error
	ReadMeta(*Reader) error
	// Finish checks what was read, once the document is known to be valid.
	Finish() error
	// WithoutRows drops what was read. From then on, only the meta is read.
	WithoutRows()
}

// Envelope reads a response, including its rows, in one pass. Only if that fails, it reads
// the document again for everything except the data.
func (r *Reader) Envelope(document []byte, rows Rows) (Envelope, error) {
	first := envelopeReader{rows: rows}
	err := first.read(r, document)
	if err == nil {
		switch {
		case rows == nil:
		case !first.hasData:
			first.DataErr = At("data", ErrMissing)
		default:
			first.DataErr = rows.Finish()
		}
		return first.Envelope, nil
	}
	again := envelopeReader{rows: rows, besideData: true}
	forgetRows(rows)
	if again.read(r, document) != nil {
		forgetRows(rows) // the meta may be incomplete
		return Envelope{}, err
	}
	again.DataErr = err
	return again.Envelope, nil
}

func forgetRows(rows Rows) {
	if rows != nil {
		rows.WithoutRows()
	}
}

// envelopeReader reads the members of a response.
type envelopeReader struct {
	Envelope
	rows       Rows
	besideData bool // read everything except the data, which cannot be read
	hasSuccess bool
	hasData    bool
}

func (e *envelopeReader) read(r *Reader, document []byte) error {
	switch text := trim(document); {
	case len(text) == 0:
		return At(WholeResponse, errEmpty)
	case text[0] == '<':
		return At(WholeResponse, errMarkup)
	}
	r.Reset(document)
	err := r.Object(func(key []byte) error { return e.readMember(r, key) })
	switch {
	case err != nil:
	case !e.hasSuccess:
		err = At("success", ErrMissing)
	default:
		err = r.End()
	}
	if _, ok := err.(*pathError); err != nil && !ok {
		err = At(WholeResponse, err)
	}
	return err
}

func (e *envelopeReader) readMember(r *Reader, key []byte) (err error) {
	switch string(key) {
	case "success":
		if e.hasSuccess {
			return ErrDuplicate
		}
		e.hasSuccess = true
		if r.Kind() != Bool { // 1 and 0 will not do
			return r.Unexpected("a boolean")
		}
		return r.Boolean(&e.Success)
	case "message":
		e.Message, err = r.anyText()
		return err
	case "data":
		if e.hasData {
			return ErrDuplicate
		}
		e.hasData = true
		return e.readData(r)
	case "meta":
		if e.rows != nil {
			return e.rows.ReadMeta(r)
		}
		raw, err := r.raw()
		e.Meta = bytes.Clone(raw)
		return err
	}
	return r.Skip()
}

func (e *envelopeReader) readData(r *Reader) error {
	switch {
	case e.rows != nil:
		return e.rows.ReadData(r)
	case e.besideData:
		return r.Skip()
	}
	raw, err := r.raw()
	e.Data = bytes.Clone(raw)
	return err
}
