package view

import (
	"fmt"
	"net/http"

	"github.com/messaging-go/messaging/cmd/messaging/internal/findings"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// note is a remark with the class of its color, and with a link if there is more to see.
type note struct {
	Class, Text string
	Href, More  string // a link and its text
	// Problems follow the text, each with a link to its line, and Left is how many others there are.
	Problems []problem
	Left     int
}

// problem is what is wrong with a value of a request.
type problem struct{ Path, Text, Href string }

// maxProblems is how many problems a note has.
const maxProblems = 20

// notesOf are the remarks above the tabs of a page.
func notesOf(e *history.Entry, path, exchangeTab string) (list []note) {
	add := func(class, text string) { list = append(list, note{Class: class, Text: text}) }
	if class, text := faultNote(e); text != "" {
		add(class, text)
	}
	if text := refusalNote(e); text != "" {
		add("bad", text)
	}
	for _, n := range e.Notes() {
		found := note{Class: "warn", Text: n.Text}
		switch n.Code {
		case "sdk_refuses": // the outcome says it
			continue
		case "foreign_key", "key_header", "wrong_path":
			found.Class = "bad"
		case "duplicate":
			found.Href, found.More = compareURL(path, e.DuplicateOf), "Compare them"
		case "email_check":
			found.Href, found.More = path+"?tab=check", "Show the check"
		}
		list = append(list, found)
	}
	if e.Status == http.StatusInsufficientStorage && e.Fault == "" {
		add("bad", "This is a limit of the sandbox, not of the real service: --max-records raises it, and a reset makes room.")
	}
	if e.ReplayOf > 0 {
		list = append(list, note{Text: "This repeats request " + words.Thousands(e.ReplayOf) + ".",
			Href: compareURL(path, e.ReplayOf), More: "Compare them"})
	}
	if len(e.Problems) > 0 {
		list = append(list, problemsNote(e, exchangeTab))
	}
	return list
}

func compareURL(path string, with int) string { return fmt.Sprintf("%s?tab=diff&with=%d", path, with) }

// faultNote says what a fault did to the request.
func faultNote(e *history.Entry) (class, text string) {
	hides := e.Fault == "answer_lost" || e.Fault == "malformed" || e.Fault == "slow"
	switch {
	case e.Fault == "":
		return "", ""
	case hides && e.Kind == "" && !e.IsRead():
		return "unknown", "The request was refused, and nothing was done. A fault hid that from the caller."
	case e.Fault == "answer_lost" && e.IsRead():
		return "unknown", "A fault closed the connection before the response."
	case e.Fault == "answer_lost":
		return "unknown", "A fault closed the connection after the request was carried out. The caller cannot tell."
	case e.Fault == "slow" && e.Status == 0:
		return "unknown", "A fault delayed the request until the connection was closed. It was carried out."
	case e.Fault == "malformed":
		return "unknown", "A fault replaced the response. The request was carried out."
	case e.Fault == "slow":
		return "warn", "A fault delayed the response."
	default:
		return OutcomeTag(e).Class, "A fault made this response. The request was not carried out."
	}
}

// refusalNote says why a request was refused, if neither its problems nor its key do.
func refusalNote(e *history.Entry) string {
	switch {
	case e.Fault != "" || e.Status < 400 || e.LacksKey() || len(e.Problems) > 0:
		return ""
	case e.Op == "":
		if findings.RightOperation(e) != "" {
			return "" // which the rule says
		}
		return "No operation has this method and path; /openapi.json lists them."
	case e.Status == http.StatusBadRequest:
		return capitalized(bodyProblem(e.Request.Body)) + "."
	default:
		return ""
	}
}

// problemsNote says what the problems of a request are, and leads to where they are marked.
func problemsNote(e *history.Entry, exchangeTab string) note {
	n := note{Class: "bad"}
	for _, path := range sortedKeys(e.Problems) {
		for _, text := range e.Problems[path] {
			if n.Left++; n.Left <= maxProblems {
				n.Problems = append(n.Problems, problem{path, text, exchangeTab + "#at-" + path})
			}
		}
	}
	where := "request"
	if e.IsRead() {
		where = "query"
	}
	n.Text = fmt.Sprintf("%s in the %s: ", words.Count(len(e.Problems), "problem"), where)
	n.Left -= len(n.Problems)
	return n
}
