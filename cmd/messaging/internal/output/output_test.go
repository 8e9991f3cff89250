package output

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

type row struct {
	Name string    `json:"name"`
	N    int       `json:"n"`
	At   time.Time `json:"at"`
}

var rowTable = Table[row]{
	Columns: []Column[row]{
		{Name: "name", Text: func(r row) string { return r.Name }},
		{Name: "at", Time: func(r row) time.Time { return r.At }},
	},
	Fields: FieldsOf(row{}),
}

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func printerTo(out io.Writer, f Flags) *Printer {
	return New(f, out, io.Discard, func(string) (string, bool) { return "", false })
}

// write returns what the rows become.
func write(t *testing.T, p *Printer, out *bytes.Buffer, rows ...row) string {
	t.Helper()
	w := NewRows(p, rowTable)
	for _, r := range rows {
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close())
	return out.String()
}

func TestRowsOfPipesAreTSV(t *testing.T) {
	var out bytes.Buffer
	text := write(t, printerTo(&out, Flags{}), &out, row{Name: "a\tb\nc\\d\x1b\u202e", At: noon}, row{})
	assert.Equal(t, "a\\tb\\nc\\\\d\\u001b\\u202e\t2026-01-01T12:00:00Z\n\t\n", text)
}

func TestRowsOfJSONAreAnArray(t *testing.T) {
	var out bytes.Buffer
	assert.Equal(t, "[]\n", write(t, printerTo(&out, Flags{JSON: allFields}), &out))
	out.Reset()
	text := write(t, printerTo(&out, Flags{JSON: "n,name"}), &out, row{Name: "\u009b<\u202e", N: 1}, row{N: 2})
	assert.Equal(t, "[\n{\"n\":1,\"name\":\"\\u009b<\\u202e\"},\n{\"n\":2,\"name\":\"\"}\n]\n", text)
	out.Reset()
	text = write(t, printerTo(&out, Flags{JSON: "name", NDJSON: true}), &out, row{Name: "😀"}, row{Name: "b"})
	assert.Equal(t, "{\"name\":\"😀\"}\n{\"name\":\"b\"}\n", text)
}

func TestRowsOfATerminalAreCutToItsWidth(t *testing.T) {
	var out bytes.Buffer
	p := printerTo(&out, Flags{})
	p.outTTY, p.width, p.now = true, 30, func() time.Time { return noon.Add(49 * time.Hour) }
	text := write(t, p, &out, row{Name: "Ada", At: noon}, row{Name: strings.Repeat("ж", 40)},
		row{Name: "\x1b[31m", At: noon.Add(50 * time.Hour)})
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	assert.True(t, strings.HasPrefix(lines[0], "NAME "), lines[0])
	assert.Equal(t, strings.Repeat("ж", 29)+"…", lines[2])
	assert.NotContains(t, text, "\x1b")
}

func TestRelativeTimesAreShort(t *testing.T) {
	for age, want := range map[time.Duration]string{0: "0 s ago", 59 * time.Second: "59 s ago", time.Minute: "1 min ago",
		3 * time.Hour: "3 h ago", 49 * time.Hour: "2 d ago", -2 * time.Hour: "in 2 h"} {
		assert.Equal(t, want, relative(noon, noon.Add(age)))
	}
}

func TestFieldsOfJSONAreThoseOfTheRows(t *testing.T) {
	var out bytes.Buffer
	err := printerTo(&out, Flags{JSON: "name,nme"}).CheckFields(rowTable.Fields())
	assert.EqualError(t, err, `--json: there is no field "nme"; the fields are name, n, at`)
	assert.Equal(t, exit.Usage, exit.CodeOf(err))
	assert.ErrorContains(t, printerTo(&out, Flags{JSON: "name"}).CheckFields(nil), "has no fields to choose")
	assert.NoError(t, printerTo(&out, Flags{JSON: "at,name"}).CheckFields(rowTable.Fields()))
	assert.NoError(t, printerTo(&out, Flags{JSON: allFields}).CheckFields(nil))
	assert.Empty(t, out.String())
	assert.ErrorIs(t, printerTo(&out, Flags{JSON: helpFields}).CheckFields(rowTable.Fields()), ErrFieldsListed)
	assert.Equal(t, "name\nn\nat\n", out.String())
}

func TestColorsFollowTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		env   map[string]string
		flag  bool
		color bool
	}{
		{nil, false, false}, // no terminal
		{map[string]string{"CLICOLOR_FORCE": "1"}, false, true},
		{map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, false, false},
		{map[string]string{"CLICOLOR_FORCE": "1"}, true, false},
	} {
		p := New(Flags{NoColor: c.flag}, io.Discard, io.Discard, func(name string) (string, bool) { v, ok := c.env[name]; return v, ok })
		assert.Equal(t, c.color, p.Bold("x") != "x", "%v", c)
	}
}

func TestErrorsShowHiddenCharacters(t *testing.T) {
	var stderr bytes.Buffer
	p := New(Flags{}, io.Discard, &stderr, func(string) (string, bool) { return "", false })
	p.Fail(exit.With(exit.Invalid, "a\x1b]0;x\x07\nb"))
	assert.Equal(t, "messaging: a\\u001b]0;x\\u0007\nb\n", stderr.String())
}

func TestProgressCountsWhatBecameOfEachItem(t *testing.T) {
	p := New(Flags{Quiet: true}, io.Discard, io.Discard, func(string) (string, bool) { return "", false })
	progress := p.NewProgress(5000)
	progress.began = time.Now().Add(-10 * time.Second)
	progress.Set(Counts{OK: 990, Failed: 3, Unknown: 2, Skipped: 5})
	assert.Regexp(t, `^1,000/5,000 · (100|99)/s · ETA 4\ds · 990 ok · 3 failed · 2 unknown · 5 skipped$`, progress.current())
	progress.Stop()
}
