// Package recipients reads the customers of a broadcast from a CSV or a JSON Lines file.
package recipients

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// List is the customers of a file.
type List struct {
	Customers []messaging.CustomerParams
	// Duplicates is the number of rows that repeat the id and the address of an earlier row.
	Duplicates int
	// Bad are the rows that cannot be used.
	Bad rows.Problems
	// LeftOut lists the columns that were left out; see [rows.Columns].
	LeftOut string
}

// Read reads a file. Rows that cannot be used are an error, unless skipBad is true. A file without a customer is an error.
func Read(source rows.Source, in io.Reader, skipBad bool) (*List, error) {
	list, name := new(List), source.Name
	source.IsKnown = func(name string) bool { return name == devices || slices.Contains(Fields, name) }
	source.Known, source.Unused = Known, Unused
	reader, err := source.NewReader(in)
	if err == nil {
		err = list.read(reader)
	}
	list.LeftOut = source.LeftOut()
	switch {
	case err != nil:
		return nil, exit.With(exit.Usage, "%s: %w", name, err)
	case list.Bad.Count > 0 && !skipBad:
		return nil, exit.With(exit.Usage, "%s: %s cannot be used:%s\nfix the file, or pass --skip-bad-rows",
			name, words.Count(list.Bad.Count, "row"), &list.Bad)
	case len(list.Customers) == 0:
		return nil, exit.With(exit.Usage, "%s has no customer that can be used", name)
	}
	return list, nil
}

// read reads the rows.
func (l *List) read(in *rows.Reader) error {
	if in.Lacks("email", "customer_id") {
		return errors.New("line 1: there is neither a column email nor a column customer_id; pass --map NAME=email if it has another name")
	}
	seen := map[[2]string]bool{}
	for row, err := range in.All() {
		var c messaging.CustomerParams
		if err == nil {
			c, err = customerOf(row)
		}
		key := [2]string{c.CustomerID, lowerASCII(c.Email)}
		if problem := rows.ProblemOf(err); problem != nil {
			l.Bad.Add(problem)
		} else if err != nil {
			return err
		} else if seen[key] {
			l.Duplicates++
		} else {
			seen[key] = true
			l.Customers = append(l.Customers, c)
		}
	}
	return nil
}

// lowerASCII lowers the letters in which the service sees no difference.
func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// Fields are the fields of a customer that a column can hold, by their names on the wire.
var Fields = []string{"customer_id", "email", "first_name", "last_name", "phone_no"}

// Field returns one of the fields of a customer, or nil for another name.
func Field(c *messaging.CustomerParams, name string) *string {
	values := []*string{&c.CustomerID, &c.Email, &c.FirstName, &c.LastName, &c.PhoneNo}
	if at := slices.Index(Fields, name); at >= 0 {
		return values[at]
	}
	return nil
}

// Known lists the fields for people.
var Known = "a field of a customer (" + strings.Join(Fields, ", ") + ")"

// Unused are the columns of an export of customers that cannot be sent.
var Unused = []string{"providers", "customer_created_at", "updated_at", "last_interaction"}

// devices is the field that JSON can have besides.
const devices = "devices"

// customerOf returns the customer of a row, or a *rows.Problem.
func customerOf(row rows.Row) (c messaging.CustomerParams, err error) {
	for _, field := range row.Fields {
		text := Field(&c, field.Holds)
		switch {
		case field.IsNull():
		case text != nil && field.JSON == nil:
			*text = strings.Clone(field.Text) // that of a row of CSV is part of the whole row
		case text != nil:
			return c, field.Problem("must be a text")
		case field.JSON == nil:
			return c, field.Problem("must be an array, which only JSON can hold")
		default:
			if err := strictjson.Decode(field.JSON, &c.Devices); err != nil {
				return c, field.Problem("%s", strings.TrimPrefix(err.Error(), "line 1: "))
			}
		}
	}
	if problem := problemOf(c); problem != "" {
		return c, &rows.Problem{Line: row.Line, Text: problem}
	}
	return c, nil
}

// problemOf returns why the SDK refuses a customer, or "".
func problemOf(c messaging.CustomerParams) string {
	_, err := messaging.PushBroadcastParams{Subject: "s", Message: "m", To: messaging.ToCustomers(c)}.Prepare()
	if err == nil {
		return ""
	}
	invalid, ok := errors.AsType[*messaging.ValidationError](err)
	if !ok {
		return err.Error()
	}
	var problems []string
	for _, problem := range invalid.Fields {
		name := strings.TrimPrefix(strings.TrimPrefix(problem.Field, "recipients.0.customers.0"), ".")
		if value := Field(&c, name); value != nil && *value != "" {
			name += " " + visible.Quote(*value)
		}
		problems = append(problems, strings.TrimSpace(name+" "+strings.Join(problem.Messages, ", ")))
	}
	return strings.Join(problems, "; ")
}
