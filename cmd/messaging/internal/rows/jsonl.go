package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"unicode/utf8"
)

// maxLine is the longest line, so that a file without line breaks does not fill the memory.
const maxLine = 16 << 20

func jsonLines(r *bufio.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var row Row
		var text []byte
		for number := 1; ; number++ {
			var err error
			text, err = readLine(r, text[:0])
			if err != nil && err != io.EOF {
				yield(Row{}, fmt.Errorf("line %d: %w", number, err))
				return
			}
			if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 {
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

// readLine appends the next line to buffer.
func readLine(r *bufio.Reader, buffer []byte) ([]byte, error) {
	for {
		part, err := r.ReadSlice('\n')
		buffer = append(buffer, part...)
		if len(buffer) > maxLine {
			return buffer, fmt.Errorf("longer than %d MiB", maxLine>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buffer, err
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
			return *row, &Problem{Line: row.Line, Column: field.Column, Name: field.Name, Text: "occurs twice"}
		}
		seen[field.Name] = true
		if field.JSON[0] == '"' {
			if err := json.Unmarshal(field.JSON, &field.Text); err != nil {
				return *row, &Problem{Line: row.Line, Column: field.Column, Name: field.Name, Text: "is not valid JSON"}
			}
			field.JSON = nil
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
