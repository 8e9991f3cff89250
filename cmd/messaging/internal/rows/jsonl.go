package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/bounded"
	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
)

func jsonLines(r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var row Row
		lines := bufio.NewReader(bounded.Lines(r))
		for number := 1; ; number++ {
			text, err := lines.ReadBytes('\n')
			if err != nil && err != io.EOF {
				yield(Row{}, fmt.Errorf("line %d: %w", number, err))
				return
			}
			if len(bytes.TrimSpace(text)) > 0 {
				row.Line, row.Fields = number, row.Fields[:0]
				if !yield(row.parse(text)) {
					return
				}
			}
			if err == io.EOF {
				return
			}
		}
	}
}

// parse reads the object in a line.
func (row *Row) parse(line []byte) (Row, error) {
	if !utf8.Valid(line) {
		return *row, &Problem{Line: row.Line, Text: "is not UTF-8"}
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	if start, err := decoder.Token(); err != nil || start != json.Delim('{') {
		return *row, &Problem{Line: row.Line, Column: 1, Text: "is not a JSON object"}
	}
	seen := map[string]bool{}
	for decoder.More() {
		field, err := parseMember(decoder)
		field.Line, field.Column = row.Line, int(decoder.InputOffset())-len(field.JSON)+1
		switch {
		case err != nil:
			return *row, &Problem{Line: row.Line, Column: int(decoder.InputOffset()) + 1, Name: field.Name, Text: "is not valid JSON"}
		case seen[field.Name]:
			return *row, field.Problem("occurs twice")
		}
		seen[field.Name] = true
		switch field.JSON[0] {
		case '"':
			if err := json.Unmarshal(field.JSON, &field.Text); err != nil {
				return *row, field.Problem("is not valid JSON")
			}
			field.JSON = nil
		case '{', '[':
			if err := strictjson.Decode(field.JSON, new(json.RawMessage)); err != nil {
				return *row, field.Problem("%s", strings.TrimPrefix(err.Error(), "line 1: "))
			}
		}
		row.Fields = append(row.Fields, field)
	}
	if _, err := decoder.Token(); err != nil {
		return *row, &Problem{Line: row.Line, Column: int(decoder.InputOffset()) + 1, Text: "is not a complete JSON object"}
	}
	if rest := bytes.TrimSpace(line[decoder.InputOffset():]); len(rest) > 0 {
		return *row, &Problem{Line: row.Line, Column: int(decoder.InputOffset()) + 1, Text: "has text after its JSON object"}
	}
	return *row, nil
}

// parseMember reads the next member of an object. Its value is in JSON.
func parseMember(decoder *json.Decoder) (Field, error) {
	name, err := decoder.Token()
	if err != nil {
		return Field{}, err
	}
	field := Field{Name: name.(string)} // within an object, a decoder accepts only strings here
	return field, decoder.Decode(&field.JSON)
}
