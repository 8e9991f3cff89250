package rows

import (
	"bufio"
	"bytes"
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

func jsonLines(r io.Reader) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxRow)
		number := 0
		for lines.Scan() {
			number++
			if text := bytes.TrimSpace(lines.Bytes()); len(text) > 0 && !yield(parse(number, text)) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Row{}, fmt.Errorf("line %d: %w", number+1, err))
		}
	}
}

// parse reads the object in a line. Its fields are in the order of their names, which say where in the line they are.
func parse(number int, line []byte) (Row, error) {
	row := Row{Line: number}
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
	return row, nil
}
