package recipients

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/bounded"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// columns are the columns that a CSV file can have, by their names on the wire.
var columns = map[string]func(c *messaging.CustomerParams) *string{
	"customer_id": func(c *messaging.CustomerParams) *string { return &c.CustomerID },
	"email":       func(c *messaging.CustomerParams) *string { return &c.Email },
	"first_name":  func(c *messaging.CustomerParams) *string { return &c.FirstName },
	"last_name":   func(c *messaging.CustomerParams) *string { return &c.LastName },
	"phone_no":    func(c *messaging.CustomerParams) *string { return &c.PhoneNo },
}

const columnNames = "customer_id, email, first_name, last_name, phone_no"

func (l *List) readCSV(in io.Reader) error {
	reader := csv.NewReader(bounded.Lines(in))
	header, err := reader.Read()
	if errors.Is(err, io.EOF) {
		return errors.New("the file is empty")
	}
	if err != nil {
		return csvError(err)
	}
	if err := checkHeader(header); err != nil {
		return err
	}
	header = slices.Clone(header)
	reader.ReuseRecord = true
	for {
		row, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil && !errors.Is(err, csv.ErrFieldCount) {
			return csvError(err)
		}
		line, _ := reader.FieldPos(0)
		switch {
		case err != nil:
			l.bad(line, fmt.Sprintf("has %d columns; the first line has %d", len(row), len(header)))
		case !utf8.ValidString(strings.Join(row, "")):
			l.bad(line, "is not UTF-8")
		default:
			l.add(line, customerOf(header, row))
		}
	}
}

// checkHeader checks the names of the columns.
func checkHeader(header []string) error {
	for i, name := range header {
		if columns[name] == nil {
			hint := ""
			if strings.ContainsAny(name, ";\t") {
				hint = "; the separator must be a comma"
			} else if meant := words.Nearest(strings.TrimSpace(name), strings.Split(columnNames, ", ")); meant != "" {
				hint = "; did you mean " + meant + "?"
			}
			return fmt.Errorf("line 1: column %d: %s must be one of %s%s", i+1, visible.Quote(name), columnNames, hint)
		}
		if first := slices.Index(header, name); first != i {
			return fmt.Errorf("line 1: column %d: %s is column %d already", i+1, name, first+1)
		}
	}
	if !slices.Contains(header, "email") && !slices.Contains(header, "customer_id") {
		return errors.New("line 1: there must be a column email or customer_id")
	}
	return nil
}

func customerOf(header, row []string) (c messaging.CustomerParams) {
	for i, name := range header {
		*columns[name](&c) = strings.Clone(row[i])
	}
	return c
}

// csvError names the line and the column.
func csvError(err error) error {
	if syntax := new(csv.ParseError); errors.As(err, &syntax) {
		return fmt.Errorf("line %d: column %d: %w", syntax.Line, syntax.Column, syntax.Err)
	}
	return err
}

// readLines reads JSON Lines. An empty line is not a row.
func (l *List) readLines(in io.Reader) error {
	const longest = 16 << 20
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, longest)
	line := 0
	for scanner.Scan() {
		line++
		text := bytes.TrimSpace(scanner.Bytes())
		if len(text) == 0 {
			continue
		}
		var c messaging.CustomerParams
		if err := strictjson.Decode(text, &c); err != nil {
			l.bad(line, strings.TrimPrefix(err.Error(), "line 1: "))
			continue
		}
		l.add(line, c)
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("line %d: %w", line+1, err)
	}
	if line == 0 {
		return errors.New("the file is empty")
	}
	return nil
}
