// Package recipients reads the customers of a broadcast from a CSV or a JSON Lines file.
package recipients

import (
	"errors"
	"io"
	"os"
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
	// Name is the name of the file, for people.
	Name      string
	Customers []messaging.CustomerParams
	// Duplicates is the number of rows that repeat a customer of an earlier row.
	Duplicates int
	// Bad are the rows that cannot be used.
	Bad rows.Problems

	seen      map[[2]string]bool // ids and addresses
	addresses map[string]bool
}

// Read reads a file, or stdin if path is "-"; see [rows.NewReader] for its format. Rows that cannot be used are an error, unless
// skipBad is true. A file without a customer is an error.
func Read(path string, delimiter rune, stdin io.Reader, skipBad bool) (*List, error) {
	list := &List{Name: path, seen: make(map[[2]string]bool), addresses: make(map[string]bool)}
	in := stdin
	if path == "-" {
		list.Name = "stdin"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return nil, exit.With(exit.Usage, "%w", err)
		}
		defer file.Close()
		in = file
	}
	reader, err := rows.NewReader(path, delimiter, in)
	if err == nil {
		err = list.read(reader)
	}
	if err != nil {
		return nil, exit.With(exit.Usage, "%s: %w", list.Name, err)
	}
	switch {
	case list.Bad.Count > 0 && !skipBad:
		return nil, exit.With(exit.Usage, "%s: %s cannot be used:%s\nfix the file, or pass --skip-bad-rows",
			list.Name, words.Count(list.Bad.Count, "row"), &list.Bad)
	case len(list.Customers) == 0:
		return nil, exit.With(exit.Usage, "%s has no customer that can be used", list.Name)
	}
	return list, nil
}

// Has reports whether a customer of the list has this address.
func (l *List) Has(email string) bool {
	return email != "" && l.addresses[LowerASCII(email)]
}

// read reads the rows.
func (l *List) read(in *rows.Reader) error {
	if err := checkHeader(in.Header); err != nil {
		return err
	}
	for row, err := range in.All() {
		var c messaging.CustomerParams
		if err == nil {
			c, err = customerOf(row)
		}
		if problem := rows.ProblemOf(err); problem != nil {
			l.Bad.Add(problem)
			continue
		}
		if err != nil {
			return err
		}
		l.add(c)
	}
	return nil
}

// add adds a customer, unless an earlier row has the same id and the same address.
func (l *List) add(c messaging.CustomerParams) {
	key := [2]string{c.CustomerID, LowerASCII(c.Email)}
	if l.seen[key] {
		l.Duplicates++
		return
	}
	l.seen[key] = true
	l.addresses[key[1]] = true
	l.Customers = append(l.Customers, c)
}

// LowerASCII lowers the letters in which the service sees no difference.
func LowerASCII(s string) string {
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

// devices is the field that JSON Lines can have besides.
const devices = "devices"

// checkHeader returns an error for a column that no customer has, or without one that identifies a customer.
func checkHeader(header []rows.Field) error {
	identified := header == nil // in JSON Lines, each row has names
	for _, column := range header {
		if !slices.Contains(Fields, column.Name) {
			return errors.New(unknown(column).Error())
		}
		identified = identified || column.Name == "email" || column.Name == "customer_id"
	}
	if !identified {
		return errors.New("line 1: there must be a column email or customer_id")
	}
	return nil
}

func unknown(field rows.Field) *rows.Problem {
	return field.Problem("is no field of a customer; must be one of %s", strings.Join(Fields, ", "))
}

// customerOf returns the customer of a row, or a *rows.Problem.
func customerOf(row rows.Row) (c messaging.CustomerParams, err error) {
	for _, field := range row.Fields {
		text := Field(&c, field.Name)
		switch {
		case text != nil && field.JSON == nil:
			*text = strings.Clone(field.Text) // that of a row of CSV is part of the whole row
		case text != nil && !field.IsNull():
			return c, field.Problem("must be a text")
		case field.Name == devices && field.JSON != nil:
			if err := strictjson.Decode(field.JSON, &c.Devices); err != nil {
				return c, field.Problem("%s", strings.TrimPrefix(err.Error(), "line 1: "))
			}
		case text == nil:
			return c, unknown(field)
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
