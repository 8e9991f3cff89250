package rows

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/strictjson"
)

// maxRow is how long a row can be, in bytes.
const maxRow = 16 << 20

func (s *Source) jsonLines(r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxRow)
		number := 0
		for lines.Scan() {
			number++
			if text := bytes.TrimSpace(lines.Bytes()); len(text) > 0 && !yield(s.parse(number, text)) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Row{}, fmt.Errorf("line %d: %w", number+1, err))
		}
	}
}

// array ranges over the elements of an array of objects.
func (s *Source) array(r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		var read bytes.Buffer // and not yet counted
		decoder := json.NewDecoder(io.TeeReader(r, &read))
		line, counted := 1, int64(0)
		at := func(offset int64) int {
			line += bytes.Count(read.Next(max(0, int(offset-counted))), []byte("\n"))
			counted = max(counted, offset)
			return line
		}
		_, err := decoder.Token()
		for err == nil && decoder.More() {
			var element json.RawMessage
			if err = decoder.Decode(&element); err != nil {
				break
			}
			number := at(decoder.InputOffset() - int64(len(element)))
			if !yield(s.parse(number, bytes.ReplaceAll(element, []byte("\n"), []byte(" ")))) {
				return
			}
		}
		if err == nil {
			_, err = decoder.Token()
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
			err != nil && err.Error() == "unexpected end of JSON input": // which encoding/json returns with GOEXPERIMENT=jsonv2
			err = errors.New("the array does not end, so the file is not complete")
		case err == nil:
			if _, err = decoder.Token(); err == io.EOF {
				return
			}
			err = cmp.Or(err, errors.New("there is more after the array"))
		}
		yield(Row{}, fmt.Errorf("line %d: %w", at(decoder.InputOffset()), err))
	}
}

// parse reads the object in a line. Its fields are in the order of their names, which say where in the line they are.
func (s *Source) parse(number int, line []byte) (Row, error) {
	row := Row{Line: number}
	if bytes.HasPrefix(line, []byte(byteOrderMark)) {
		return row, &Problem{Line: number, Text: markProblem}
	}
	if line[0] != '{' {
		return row, &Problem{Line: number, Text: "is not a JSON object"}
	}
	var members map[string]json.RawMessage
	if err := strictjson.Decode(line, &members); err != nil {
		problem := &Problem{Line: number, Text: strings.TrimPrefix(err.Error(), "line 1: ")}
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			problem.Column = int(syntax.Offset)
		}
		return row, problem
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		field := Field{Name: name, JSON: members[name], Line: number}
		if json.Unmarshal(field.JSON, &field.Text) == nil && field.JSON[0] == '"' {
			field.JSON = nil
		}
		row.Fields = append(row.Fields, field)
	}
	if problem := s.place(row.Fields); problem != "" {
		return row, &Problem{Line: number, Text: problem}
	}
	row.Fields = slices.DeleteFunc(row.Fields, func(f Field) bool { return !s.isUsed(f) })
	return row, nil
}
