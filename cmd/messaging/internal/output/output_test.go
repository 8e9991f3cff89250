package output

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

type row struct {
	Name string   `json:"name"`
	N    int      `json:"n"`
	Tags []string `json:"tags"`
}

var rowTable = Table{Sample: row{}, Columns: []string{"name", "tags", "n"}, Texts: map[string]func(json.RawMessage) string{
	"n": func(n json.RawMessage) string { return "#" + string(n) }}}

// write returns what the rows become on a pipe or on a terminal.
func write(t *testing.T, f Flags, terminal, one bool, rows ...row) string {
	t.Helper()
	var out bytes.Buffer
	p := New(f, &out, io.Discard)
	p.outTTY = terminal
	w := p.NewRows(rowTable, one)
	for _, r := range rows {
		require.NoError(t, w.Write(r))
	}
	require.NoError(t, w.Close(true))
	return out.String()
}

func TestRowsHaveTheFormOfTheirReader(t *testing.T) {
	hidden, tagged := row{Name: "a\tb\nc\\d\x1b\u202e<", N: 1}, row{Name: "b", Tags: []string{"x", "y"}}
	assert.Equal(t, "a\\tb\\nc\\\\d\\u001b\\u202e<\t\t#1\nb\tx, y\t#0\n", write(t, Flags{}, false, false, hidden, tagged))
	assert.Equal(t, "b\tx, y\t#0\n", write(t, Flags{}, false, true, tagged))

	assert.Equal(t, "[]\n", write(t, Flags{JSON: allFields}, false, false))
	assert.Equal(t, "[\n{\"n\":1,\"name\":\"a\\tb\\nc\\\\d\\u001b\\u202e<\"},\n{\"n\":0,\"name\":\"b\"}\n]\n",
		write(t, Flags{JSON: "n,name"}, false, false, hidden, tagged))
	assert.Equal(t, "{\"name\":\"b\"}\n{\"name\":\"😀\"}\n",
		write(t, Flags{JSON: "name", NDJSON: true}, false, false, tagged, row{Name: "😀"}))
	assert.Equal(t, "{\"tags\":[\"x\",\"y\"]}\n", write(t, Flags{JSON: "tags"}, false, true, tagged))

	assert.Equal(t, "NAME  TAGS  N\nb     x, y  #0\n", write(t, Flags{}, true, false, tagged))
	assert.Equal(t, "name  b\ntags  x, y\nn     #0\n", write(t, Flags{}, true, true, tagged))
	wide := write(t, Flags{}, true, false, row{Name: strings.Repeat("ж", 40)}, row{Name: "\x1b[31m"})
	assert.Equal(t, strings.Repeat("ж", 40)+"        #0", strings.Split(wide, "\n")[1], "nothing is cut, and letters have their width")
	assert.NotContains(t, wide, "\x1b")
	assert.Equal(t, 2*tableRows+1, strings.Count(write(t, Flags{}, true, false, make([]row, 2*tableRows)...), "\n"), "it has one header")
	require.ErrorContains(t, New(Flags{JSON: "name"}, io.Discard, io.Discard).CheckFields(nil), "has no fields to choose")
}

func TestColorsFollowTheEnvironment(t *testing.T) {
	for _, c := range []struct {
		forced, none string
		color        bool
	}{{"", "", false}, {"1", "", true}, {"0", "", false}, {"1", "1", false}} {
		t.Setenv("CLICOLOR_FORCE", c.forced)
		t.Setenv("NO_COLOR", c.none)
		assert.Equal(t, c.color, New(Flags{}, io.Discard, io.Discard).Bold("x") != "x", "%v", c)
	}
}

func TestErrorsShowHiddenCharacters(t *testing.T) {
	var stderr bytes.Buffer
	New(Flags{}, io.Discard, &stderr).Fail(exit.With(exit.Invalid, "a\x1b]0;x\x07\nb"))
	assert.Equal(t, "messaging: a\\u001b]0;x\\u0007\nb\n", stderr.String())
}

func TestProgressShowsHowFarARunIsInPlace(t *testing.T) {
	var stderr bytes.Buffer
	p := New(Flags{}, io.Discard, &stderr)
	p.errTTY = true
	progress := p.NewProgress(5000)
	progress.Stop()
	assert.Empty(t, stderr.String(), "nothing was done")
	progress.began, progress.shown = time.Now().Add(-10*time.Second), time.Time{}
	progress.Set(1000, "990 accepted, 10 rejected")
	assert.Regexp(t, `^\r1,000/5,000 · (100|99)/s · ETA 4\ds · 990 accepted, 10 rejected *$`, stderr.String())
}
