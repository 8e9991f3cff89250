package messagingtest

import (
	"encoding/json"
	"net/http"
)

// answer is what goes back to the client.
type answer struct {
	status int
	allow  string // the methods that a path takes, for 405
	// retryAfter is the wait that a 429 asks for, in seconds.
	retryAfter string
	body       []byte
}

// success is the envelope of everything that went well.
type success struct {
	Success bool      `json:"success"`
	Data    any       `json:"data"`
	Meta    *pageMeta `json:"meta,omitempty"`
	Message string    `json:"message"`
}

// failure is the envelope of everything that did not.
type failure struct {
	Success bool     `json:"success"`
	Message string   `json:"message"`
	Errors  problems `json:"errors,omitempty"`
}

func done(message string, data any) answer {
	return encoded(http.StatusOK, success{Success: true, Data: data, Message: message})
}

func listed(message string, rows []any, meta *pageMeta) answer {
	return encoded(http.StatusOK, success{Success: true, Data: rows, Meta: meta, Message: message})
}

func refusal(status int, message string) answer { return encoded(status, failure{Message: message}) }

func invalid(found problems) answer {
	return encoded(http.StatusUnprocessableEntity, failure{Message: "The request is invalid", Errors: found})
}

// encoded writes an envelope. It can fail only over a record that was added with
// an Extra that is no JSON.
func encoded(status int, envelope any) answer {
	body, err := json.Marshal(envelope)
	if err != nil {
		return refusal(http.StatusInternalServerError, "A record can't be written: "+err.Error())
	}
	return answer{status: status, body: body}
}

// write leaves the Content-Type of what is not JSON to net/http, which guesses.
func (a answer) write(w http.ResponseWriter) {
	if json.Valid(a.body) {
		w.Header().Set("Content-Type", "application/json")
	}
	if a.allow != "" {
		w.Header().Set("Allow", a.allow)
	}
	if a.retryAfter != "" {
		w.Header().Set("Retry-After", a.retryAfter)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // the client may be gone
}
