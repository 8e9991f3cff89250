package rows

import (
	"errors"
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// Problem is why a row cannot be used. The rows after it can.
type Problem struct {
	Line, Column int
	// Name is the name of the column, or "" if the problem is with the whole row.
	Name string
	Text string
}

func (p *Problem) Error() string {
	at := fmt.Sprintf("line %d", p.Line)
	if p.Column > 0 {
		at += fmt.Sprintf(", column %d", p.Column)
	}
	if p.Name != "" {
		at += fmt.Sprintf(" (%s)", p.Name)
	}
	return at + ": " + p.Text
}

// ProblemOf returns what is wrong with a row, or nil for another error.
func ProblemOf(err error) *Problem {
	problem, _ := errors.AsType[*Problem](err)
	return problem
}

// Problems are rows that cannot be used. The zero Problems are none.
type Problems struct {
	Count int
	first []*Problem
}

// shown is how many problems are listed.
const shown = 10

// Add adds a row.
func (p *Problems) Add(problem *Problem) {
	if p.Count++; p.Count <= shown {
		p.first = append(p.first, problem)
	}
}

// String lists the first of them, each in an indented line that begins with a line break.
func (p *Problems) String() string {
	var b strings.Builder
	for _, problem := range p.first {
		b.WriteString("\n  " + problem.Error())
	}
	if more := p.Count - len(p.first); more > 0 {
		b.WriteString("\n  and " + words.Thousands(more) + " more")
	}
	return b.String()
}
