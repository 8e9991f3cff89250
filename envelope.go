package messaging

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// maxFirstBuffer is the largest buffer that is allocated for a Content-Length.
const maxFirstBuffer = 1 << 20

// fetch reads the body of a response, and reports one over the limit.
func (r *reader) fetch(resp *http.Response, limit int64) (tooLarge bool, err error) {
	if resp.ContentLength > 0 {
		r.body.Grow(int(min(resp.ContentLength, limit, maxFirstBuffer)) + bytes.MinRead)
	}
	r.limited = io.LimitedReader{R: resp.Body, N: limit + 1}
	n, err := r.body.ReadFrom(&r.limited)
	r.limited.R = nil
	return n > limit, err
}

// envelope is a response of the service, without the rows of a list.
type envelope struct {
	success bool
	message string
	data    json.RawMessage
	// dataFalse and dataOther report whether a member "data" is false, and whether
	// one is not. Both are true for duplicates that contradict each other.
	dataFalse, dataOther bool
	// dataErr is set if only the data can't be read.
	dataErr error
}

// wholeResponse is the path of a problem with the response as a whole.
const wholeResponse = "the response"

// rowReader reads the rows of a list, and its meta in either place.
type rowReader interface {
	readData(*reader) error
	readMeta(*reader) error
	// finish compares what was read, once the document is known to be valid.
	finish() error
	// withoutRows drops what was read. From then on, only the meta is read.
	withoutRows()
}

// envelope reads a response in one pass, rows included. Only if that fails, it
// reads the document again for what stands beside the data.
func (r *reader) envelope(document []byte, rows rowReader) (envelope, error) {
	e := envelopeReader{rows: rows}
	if err := e.read(r, document); err != nil {
		return r.envelopeBesideData(document, rows, err)
	}
	if rows != nil {
		e.dataErr = rows.finish()
	}
	return e.envelope, nil
}

// envelopeBesideData reads a document that failed with err, less its data. If
// nothing else is wrong with it, err becomes the dataErr of the envelope.
func (r *reader) envelopeBesideData(document []byte, rows rowReader, err error) (envelope, error) {
	e, again := r.readBesideData(document, rows)
	if errors.Is(again, errSyntax) { // which can also be the limit of package jx on nesting
		short, valid := r.shallow(document)
		if !valid {
			return envelope{}, err
		}
		if place, ok := err.(*pathError); ok && place.err == errSyntax {
			err = &pathError{place.path, errNesting}
		}
		e, again = r.readBesideData(short, rows)
	}
	if again != nil || e.duplicated { // the meta may be incomplete, or one of several
		forgetRows(rows)
	}
	if again != nil {
		return envelope{}, err
	}
	e.dataErr = err
	return e.envelope, nil
}

func (r *reader) readBesideData(document []byte, rows rowReader) (envelopeReader, error) {
	forgetRows(rows)
	e := envelopeReader{rows: rows, besideData: true}
	err := e.read(r, document)
	return e, err
}

func forgetRows(rows rowReader) {
	if rows != nil {
		rows.withoutRows()
	}
}

// envelopeReader reads the members of a response.
type envelopeReader struct {
	envelope
	rows       rowReader
	besideData bool // skip the data, which can't be read
	hasSuccess bool
	hasData    bool
	duplicated bool // there is more than one "data"
}

func (e *envelopeReader) read(r *reader, document []byte) error {
	if len(bytes.TrimSpace(document)) == 0 {
		return at(wholeResponse, errEmpty)
	}
	r.reset(document)
	err := r.object(func(key []byte) error { return e.readMember(r, key) })
	switch {
	case err != nil:
	case !e.hasSuccess:
		err = at("success", errMissing)
	default:
		err = r.end()
	}
	if _, ok := err.(*pathError); err != nil && !ok {
		err = at(wholeResponse, err)
	}
	return err
}

func (e *envelopeReader) readMember(r *reader, key []byte) (err error) {
	switch string(key) {
	case "success":
		if e.hasSuccess {
			return errDuplicate
		}
		e.hasSuccess = true
		e.success, err = r.strictBoolean()
		return err
	case "message":
		e.message, err = r.anyText()
		return err
	case "data":
		e.hasData, e.duplicated = true, e.hasData
		return e.readData(r)
	case "meta":
		if e.rows != nil {
			return e.rows.readMeta(r)
		}
	}
	return r.skip()
}

func (e *envelopeReader) readData(r *reader) error {
	switch {
	case e.duplicated && !e.besideData:
		return errDuplicate
	case e.duplicated && e.rows != nil:
		return r.scalar(r.json.Skip())
	case e.rows != nil:
		return e.rows.readData(r)
	case e.besideData:
		raw, err := r.json.Raw()
		e.noteData(raw)
		return r.scalar(err)
	}
	raw, err := r.raw()
	e.data = bytes.Clone(raw)
	e.noteData(raw)
	return err
}

func (e *envelopeReader) noteData(raw []byte) {
	if string(raw) == "false" {
		e.dataFalse = true
	} else {
		e.dataOther = true
	}
}
