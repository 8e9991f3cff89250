package rows

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sourceOf describes a file whose columns can have any name.
func sourceOf(name string) Source {
	return Source{Name: name, Delimiter: ',', Columns: Columns{IsKnown: func(string) bool { return true }}}
}

// read returns every row and every problem as a text.
func read(t *testing.T, name, text string) (lines []string) {
	t.Helper()
	source := sourceOf(name)
	reader, err := source.NewReader(strings.NewReader(text))
	if err != nil {
		return []string{"fatal: " + err.Error()}
	}
	for row, err := range reader.All() {
		if problem, ok := errors.AsType[*Problem](err); ok {
			lines = append(lines, "bad: "+problem.Error())
			continue
		}
		if err != nil {
			lines = append(lines, "fatal: "+err.Error())
			continue
		}
		line := fmt.Sprintf("%d:", row.Line)
		for _, f := range row.Fields {
			line += fmt.Sprintf(" %s=%q%s@%d:%d", f.Name, f.Text, string(f.JSON), f.Line, f.Column)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestCSVIsReadAsSpreadsheetsWriteItAndProblemsSayWhere(t *testing.T) {
	for text, want := range map[string][]string{
		"":            {"fatal: the file is empty"},
		"\ufeff":      {"fatal: the file is empty"},
		"a,b":         nil,
		"a,b\n1\n2,3": {"bad: line 2: has 1 values, but the header has 2 columns", `3: a="2"@3:1 b="3"@3:3`},
		"a\n1 \"x\"\n2": {"bad: line 2, column 3: has a quotation mark within a value; quote the whole value and double the " +
			"mark", `3: a="2"@3:1`},
		"a,b\n1,\xff\n2,3": {"bad: line 2, column 3 (b): is not UTF-8", `3: a="2"@3:1 b="3"@3:3`},
		"a,b\n1,\"2\n3,4\n5,6": {"fatal: line 4, column 4: a quoted value that begins at line 2 does not end properly; the rows after " +
			"it cannot be told apart"},
		"a,\n1,2\n3,\n":               {"bad: line 2, column 3: has a value, but its column has no name in the header", `3: a="3"@3:1`},
		"a,b,\n1,2,\n,,\n\"\",\n3,4,": {`2: a="1"@2:1 b="2"@2:3`, `5: a="3"@5:1 b="4"@5:3`},
		",\n1,2":                      {"fatal: line 1: the header has no names"},
		"a,b,a\n":                     {`fatal: line 1: headers 1 and 3 are both "a"`},
		"a;b\n1;2": {`fatal: line 1: the header has no comma; pass --delimiter ';' or --delimiter tab ` +
			`if "a;b" are several columns`},
		"\xff\xfea\x00":        {"fatal: the file is UTF-16; save it as UTF-8"},
		"a\x00b\x00":           {"fatal: the file is UTF-16 or no text; save it as UTF-8"},
		"PK\x03\x04\x14":       {"fatal: the file is a spreadsheet (.xlsx), or another zip file; save it as CSV"},
		"\xd0\xcf\x11\xe0\xa1": {"fatal: the file is a spreadsheet (.xls); save it as CSV"},
		"\x1f\x8b\x08":         {"fatal: the file is compressed with gzip; unpack it"},
		"a\xff\n":              {"fatal: line 1: header 1 of 1 is not UTF-8"},
		"\"a\";\"b\"\n": {"fatal: line 1, column 3: a quoted value that begins at line 1 does not end properly; the rows after " +
			"it cannot be told apart; pass --delimiter ';' or --delimiter tab if one of them separates the columns"},
		"\ufeffa,b\n1,2\n\ufeffa,b": {`2: a="1"@2:1 b="2"@2:3`,
			"bad: line 3, column 1 (a): begins with a byte order mark (U+FEFF), as where two files were put together"},
		"a\n\n\n1":                               {`4: a="1"@4:1`},
		"a\n1\n" + strings.Repeat("x", 2*maxRow): {`2: a="1"@2:1`, "fatal: the row at byte 4 is longer than 16777216 bytes"},
		"\ufeffemail,note\r\nada@example.com,\"a \"\"b\"\"\r\nc\"\r\nb@example.com,\r\n": {
			`2: email="ada@example.com"@2:1 note="a \"b\"\nc"@2:17`, `4: email="b@example.com"@4:1 note=""@4:15`},
		"email\n\"x\ny\nz\"\n1,,,": {`2: email="x\ny\nz"@2:1`, "bad: line 5: has 4 values, but the header has 1 columns"},
	} {
		assert.Equal(t, want, read(t, "a.csv", text), "%q", text)
	}
}

func TestJSONLinesKeepTypesAndPositionsAndProblemsSayWhere(t *testing.T) {
	var first *json.SyntaxError // its offset is 0 with GOEXPERIMENT=jsonv2, which does not count the character itself
	require.ErrorAs(t, json.Unmarshal([]byte("}"), new(any)), &first)
	invalid := func(column int, text string) string {
		return fmt.Sprintf("bad: line 1, column %d: invalid character %s", column-1+int(first.Offset), text)
	}
	for text, want := range map[string][]string{
		"1\n{\"a\":1}\n[1]":     {"bad: line 1: is not a JSON object", `2: a=""1@2:0`, "bad: line 3: is not a JSON object"},
		`{"a":1,"a":2}`:         {`bad: line 1: "a" is there already`},
		`{"a":}`:                {invalid(6, "'}' looking for beginning of value")},
		`{"a":1`:                {"bad: line 1, column 6: unexpected end of JSON input"},
		`{"a":1} {"b":2}`:       {invalid(9, "'{' after top-level value")},
		"{\"a\":\"\xff\"}":      {"bad: line 1: the file is not UTF-8"},
		`{"a":[{"b":1,"b":2}]}`: {`bad: line 1: "b" is there already`},
		"\n\n":                  nil,
		"{}\n\ufeff{}":          {"1:", "bad: line 2: begins with a byte order mark (U+FEFF), as where two files were put together"},
		`{"a":1,}` + "\n{}":     {invalid(8, "'}' looking for beginning of object key string"), "2:"},
		"\ufeff" + `{"a":"x", "n": 1.50, "o":{"b": 1}, "z": null}` + "\r\n\r\n" + `{"a":"\u00e9"}`: {
			`1: a="x"@1:0 n=""1.50@1:0 o=""{"b": 1}@1:0 z=""null@1:0`, `3: a="é"@3:0`},
		"{\"a\":\"\\ud800\"}": {`1: a="�"@1:0`},
	} {
		assert.Equal(t, want, read(t, "a.jsonl", text), "%q", text)
	}
}

func TestTheNameOrElseTheContentGivesTheFormat(t *testing.T) {
	for _, name := range []string{"a.JSONL", "a.ndjson", "-", "/dev/fd/63", "a.txt"} {
		assert.Equal(t, []string{`1: a="x"@1:0`}, read(t, name, `{"a":"x"}`), name)
	}
	for _, name := range []string{"a.CSV", "-", "a.tsv"} {
		assert.Equal(t, []string{`2: a="x"@2:1`}, read(t, name, "a\nx\n"), name)
	}
}

func TestValuesAreSeparatedByTheDelimiter(t *testing.T) {
	for text, want := range map[string]string{"": "1,2", ";": "1;2", "tab": "1\t2", "|": "1|2"} {
		source := sourceOf("a.csv")
		var err error
		source.Delimiter, err = ParseDelimiter(text)
		require.NoError(t, err)
		reader, err := source.NewReader(strings.NewReader(strings.Replace(want, "1", "a", 1) + "\n" + want))
		require.NoError(t, err)
		assert.Len(t, reader.header, 2, text)
	}
	for _, text := range []string{";;", "\"", "\n", "semicolon", "\xff"} {
		_, err := ParseDelimiter(text)
		assert.ErrorContains(t, err, "must be one character", text)
	}
}

func TestAnArrayIsReadLikeJSONLines(t *testing.T) {
	for text, want := range map[string][]string{
		"[]": nil,
		"[\n{\"a\":1},\n\n{\n\"b\":\n\"x\"}, 7]\n": {`2: a=""1@2:0`, `4: b="x"@4:0`, "bad: line 6: is not a JSON object"},
		"[{\"a\":1},\n{\"a\":1,\n\"a\":2}]":        {`1: a=""1@1:0`, `bad: line 2: "a" is there already`},
		"[\n{\"a\":1},\n":                          {`2: a=""1@2:0`, "fatal: line 2: the array does not end, so the file is not complete"},
		"[\n{\"a\":1}\n":                           {`2: a=""1@2:0`, "fatal: line 2: the array does not end, so the file is not complete"},
		"[]\n{}":                                   {"fatal: line 2: there is more after the array"},
	} {
		assert.Equal(t, want, read(t, "a.json", text), "%q", text)
	}
}
