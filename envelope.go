package messaging

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
)

// maxFirstBuffer is how much memory an answer gets on its word alone.
const maxFirstBuffer = 1 << 20

// fetch reads the body of an answer, and tells one that is over the limit.
func (r *reader) fetch(resp *http.Response, limit int64) (tooLarge bool, err error) {
	if resp.ContentLength > 0 {
		r.body.Grow(int(min(resp.ContentLength, limit, maxFirstBuffer)) + bytes.MinRead)
	}
	r.limited = io.LimitedReader{R: resp.Body, N: limit + 1}
	n, err := r.body.ReadFrom(&r.limited)
	r.limited.R = nil
	return n > limit, err
}

// envelope is the answer of the service, less the rows of a list.
type envelope struct {
	success bool
	message string
	data    json.RawMessage
	// dataErr is set where the answer is sound but its data can't be read.
	dataErr error
}

// wholeAnswer stands for the path of what is wrong with the answer as a whole.
const wholeAnswer = "the answer"

// rowReader reads the rows of a list, and where its meta may be.
type rowReader interface {
	readData(*reader) error
	readMeta(*reader) error
	// finish holds against each other what was read in a sound document.
	finish() error
	// withoutRows is called before reading again a document whose rows failed: it
	// asks for the meta alone.
	withoutRows()
}

// envelope reads an answer in one pass, rows included. Only where the data can't
// be read is the document read again, for what the rest of it says.
func (r *reader) envelope(document []byte, rows rowReader) (envelope, error) {
	answer, err := r.readEnvelope(document, rows)
	switch {
	case rows == nil:
		return answer, err
	case err == nil:
		answer.dataErr = rows.finish()
		return answer, nil
	}
	rows.withoutRows()
	answer, again := r.readEnvelope(document, rows)
	if again != nil {
		rows.withoutRows() // what was read of the meta may be half of it, or one of two
		return envelope{}, err
	}
	answer.dataErr = err
	return answer, nil
}

func (r *reader) readEnvelope(document []byte, rows rowReader) (envelope, error) {
	var answer envelope
	var hasSuccess, hasData bool
	if len(bytes.TrimSpace(document)) == 0 {
		return answer, at(wholeAnswer, errEmpty)
	}
	r.reset(document)
	err := r.object(func(key []byte) (err error) {
		switch string(key) {
		case "success":
			if hasSuccess {
				return errTwice
			}
			hasSuccess = true
			answer.success, err = r.strictBoolean()
			return err
		case "message":
			answer.message, err = r.anyText()
			return err
		case "data":
			if hasData {
				return errTwice
			}
			hasData = true
			if rows != nil {
				return rows.readData(r)
			}
			data, err := r.raw()
			answer.data = bytes.Clone(data)
			return err
		case "meta":
			if rows != nil {
				return rows.readMeta(r)
			}
		}
		return r.skip()
	})
	switch {
	case err != nil:
	case !hasSuccess:
		err = at("success", errMissing)
	default:
		err = r.end()
	}
	if _, ok := err.(*pathError); err != nil && !ok {
		err = at(wholeAnswer, err)
	}
	return answer, err
}
