package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

// result is what a run of the command printed, and its exit code.
type result struct {
	code           int
	stdout, stderr string
}

func gen(t *testing.T, args ...string) result {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), args, &stdout, &stderr)
	return result{code, stdout.String(), stderr.String()}
}

var shipped = messaging.Event{Name: "Order shipped", Description: "d", Parameters: []messaging.EventParameter{
	{Name: "order_id", Type: "text", Required: true}}}

// inAnEmptyFolder starts a service with an event, and points the command at it.
func inAnEmptyFolder(t *testing.T) *messagingtest.Server {
	t.Chdir(t.TempDir())
	service := messagingtest.NewServer(t)
	service.AddEvents(shipped)
	t.Setenv("MESSAGING_BASE_URL", service.URL())
	t.Setenv("MESSAGING_API_KEY", service.APIKey())
	t.Setenv("GOPACKAGE", "")
	return service
}

func place(t *testing.T, path, content string) {
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
}

func content(t *testing.T, path string) string {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(data)
}

func TestDefinitionsOfTheAccountBecomeCode(t *testing.T) {
	service := inAnEmptyFolder(t)

	assert.Equal(t, result{0, "", "wrote events/events.json\n"}, gen(t, "pull", "--to", "events/events.json"))
	assert.Equal(t, result{0, "", "wrote events/support.gen.go\nwrote events/events.gen.go\n"}, gen(t, "--out", "events"))
	assert.Contains(t, content(t, "events/events.gen.go"), "\npackage events\n")
	assert.Contains(t, content(t, "events/events.gen.go"), "func (e *Events) OrderShipped(")
	assert.Equal(t, result{}, gen(t, "--out", "events"), "nothing is written again")
	assert.Equal(t, result{}, gen(t, "--out", "events", "--check"))
	assert.Equal(t, result{}, gen(t, "pull", "--to", "events/events.json", "--check"))

	service.AddEvents(messaging.Event{Name: "order lost"})
	before := content(t, "events/events.json")
	const notCurrent = "messaging-gen: not current; run the same command without --check\n"
	assert.Equal(t, result{10, "events/events.json: event \"order lost\" would be added\n", notCurrent},
		gen(t, "pull", "--to", "events/events.json", "--check"))
	assert.Equal(t, before, content(t, "events/events.json"))
	assert.Equal(t, 0, gen(t, "pull", "--to", "events/events.json").code)
	require.NoError(t, os.Remove("events/support.gen.go"))
	assert.Equal(t, result{10, "events/support.gen.go\nevents/events.gen.go\n", notCurrent}, gen(t, "--out", "events", "--check"))
	assert.NoFileExists(t, "events/support.gen.go")
}

func TestDefinitionsAreComparedByWhatTheyMean(t *testing.T) {
	service := inAnEmptyFolder(t)
	parameters := []messaging.EventParameter{{Name: "number", Type: "text", Required: true}, {Name: "due_at", Type: "timestamp"}}
	service.AddEvents(messaging.Event{Name: "invoice", Description: "An invoice.", Parameters: parameters},
		messaging.Event{Name: "broken", Parameters: []messaging.EventParameter{{Name: "untyped"}}})
	const invoice = `{"name": "invoice", "parameters": [
		{"name": "due_at", "type": "Timestamp"}, {"required": true, "name": "number", "type": "text"}]}`
	const shipped = `{"name": "Order shipped", "parameters": [{"name": "order_id", "type": "TEXT", "required": true}]}`
	const added = "events.json: event \"Order shipped\" would be added\n"
	const changed = `events.json: event "invoice": parameter "due_at" would be added
events.json: event "invoice": parameter "number" would become "required text", not "optional numeric"
events.json: event "invoice": parameter "paid" would be removed
events.json: event "lost" would be removed
`
	for _, test := range []struct{ listed, all, onlyListed string }{
		{invoice + "," + shipped, "", ""},
		{`{"name": "invoice", "parameters": [{"name": "number", "type": "numeric"}, {"name": "paid", "type": "text"}]},
			{"name": "lost", "parameters": []}`, added + changed, changed},
		{invoice, added, ""},
	} {
		place(t, "events.json", `{"events": [`+test.listed+`]}`)
		place(t, "gen.json", `{"ignore": ["broken"]}`)
		assert.Equal(t, test.all, gen(t, "pull", "--check").stdout)
		place(t, "gen.json", `{}`) // an event that is not listed need not be usable
		r := gen(t, "pull", "--check", "--only-listed")
		assert.Equal(t, test.onlyListed, r.stdout)
		assert.Equal(t, map[bool]int{true: 0, false: drift}[test.onlyListed == ""], r.code, r.stderr)
	}
	require.Equal(t, 0, gen(t, "pull", "--only-listed").code)
	assert.NotContains(t, content(t, "events.json"), "shipped")
}

func TestFolderNamesThePackage(t *testing.T) {
	inAnEmptyFolder(t)
	require.Equal(t, 0, gen(t, "pull").code)
	for _, args := range [][]string{{}, {"--package", "type"}, {"--package", "_"}} {
		r := gen(t, append([]string{"--from", "events.json", "--out", "my-events"}, args...)...)
		assert.Equal(t, 2, r.code, args)
		assert.Contains(t, r.stderr, "cannot be the name of a package; choose one with --package\n")
		assert.NoDirExists(t, "my-events")
	}
	require.Equal(t, 0, gen(t, "--from", "events.json", "--out", "my-events", "--package", "shop").code)
	assert.Contains(t, content(t, "my-events/events.gen.go"), "\npackage shop\n")

	t.Setenv("GOPACKAGE", "shop") // as in go generate, for the package of the line
	require.Equal(t, 0, gen(t, "--from", "events.json", "--out", "events").code)
	assert.Contains(t, content(t, "events/support.gen.go"), "\npackage events\n")
	t.Chdir("my-events")
	assert.Equal(t, 0, gen(t, "--from", "../events.json", "--check").code)
}

func TestEventsThatCannotBeUsedAreIgnoredByALine(t *testing.T) {
	service := inAnEmptyFolder(t)
	a, b := messaging.EventParameter{Name: "a", Type: "TEXT"}, messaging.EventParameter{Name: "b", Type: "text"}
	shifted := messaging.Event{ID: "2", Name: "listed twice with one id", Parameters: []messaging.EventParameter{b, a}}
	service.AddEvents(shifted, messaging.Event{ID: "4", Name: "order lost"}, messaging.Event{ID: "5"}, shifted,
		messaging.Event{ID: "3", Name: "order lost", Parameters: []messaging.EventParameter{b}},
		messaging.Event{ID: "6", Name: "created twice", Description: "first"}, messaging.Event{ID: "7", Name: "created twice"},
		messaging.Event{ID: "1", Name: "same parameters", Parameters: []messaging.EventParameter{a, a, a}})
	place(t, "gen.json", `{"ignore": ["c\u202e"]}`)

	assert.Equal(t, result{3, "", `messaging-gen: event with the id "5": has no name
event "order lost": is defined several times in the account, with different parameters and the ids "3, 4"
event "same parameters": parameter "a" is defined several times
to leave them out, write in gen.json:
"ignore": [
  "",
  "c\u202e",
  "order lost",
  "same parameters"
]
`}, gen(t, "pull"))
	place(t, "gen.json", `{"ignore": ["", "order lost", "same parameters"]}`)
	assert.Equal(t, 0, gen(t, "pull").code)
	pulled := content(t, "events.json")
	assert.Equal(t, 3, strings.Count(pulled, `"parameters": [`), "that one, the shipped one, and the older of two equal ones")
	assert.Contains(t, pulled, `"description": "first"`)
	assert.Regexp(t, `(?s)"name": "a",\s+"type": "text".*"name": "b"`, pulled)
}

func TestForeignFileIsNotReplaced(t *testing.T) {
	inAnEmptyFolder(t)
	require.Equal(t, 0, gen(t, "pull").code)
	place(t, "events.gen.go", "package mine\n")

	assert.Equal(t, result{2, "", "messaging-gen: events.gen.go is not replaced: it was not written by messaging-gen; " +
		"move it away, or choose another folder with --out\n"}, gen(t, "--package", "events"))
	assert.NoFileExists(t, "support.gen.go")
	assert.Equal(t, 2, gen(t, "--package", "events", "--check").code)
	assert.Equal(t, result{2, "", "messaging-gen: events.gen.go is not replaced: it does not hold definitions; " +
		"move it away, or choose another file with --to\n"}, gen(t, "pull", "--to", "events.gen.go"))
	assert.Equal(t, "package mine\n", content(t, "events.gen.go"))
}

func TestFileIsReplacedAsAWhole(t *testing.T) {
	inAnEmptyFolder(t)
	require.NoError(t, os.Mkdir("real", 0o700))
	place(t, "real/events.json", `{"events": []}`)
	require.NoError(t, os.Chmod("real/events.json", 0o640))
	require.NoError(t, os.Symlink(filepath.Join("real", "events.json"), "events.json"))

	require.Equal(t, result{0, "", "wrote events.json\n"}, gen(t, "pull"))

	info, err := os.Lstat("real/events.json")
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o640), info.Mode(), "as it was")
	assert.Contains(t, content(t, "real/events.json"), "Order shipped")
	entries, err := os.ReadDir("real")
	require.NoError(t, err)
	assert.Len(t, entries, 1, "no temporary file is left")
	place(t, "events.json", string(bytes.ReplaceAll([]byte(content(t, "events.json")), []byte("\n"), []byte("\r\n"))))
	assert.Equal(t, result{}, gen(t, "pull", "--check"), "Git can convert the ends of lines")
}

func TestFilesThatCannotBeReadOrWritten(t *testing.T) {
	inAnEmptyFolder(t)
	place(t, "mine.go", "package mine\n")
	place(t, "empty.json", `{"events": []}`)
	require.NoError(t, os.Mkdir("folder.json", 0o700))
	require.Equal(t, 0, gen(t, "pull").code)
	for _, test := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"--from", "missing.json", "--package", "x"}, 3,
			"open missing.json: no such file or directory; write it with: messaging-gen pull --to missing.json"},
		{[]string{"--out", "no/events"}, 3,
			"open no/events/events.json: no such file or directory; write it with: messaging-gen pull --to no/events/events.json"},
		{[]string{"--from", "mine.go", "--package", "x"}, 3, "mine.go: line 1: invalid character 'p' looking for beginning of value"},
		{[]string{"--from", "empty.json", "--package", "x"}, 3, "empty.json: there are no events to generate code for"},
		{[]string{"--from", "events.json", "--package", "x", "--out", "mine.go"}, 1, "stat mine.go/support.gen.go: not a directory"},
		{[]string{"pull", "--to", "missing.json", "--only-listed"}, 3, "open missing.json: no such file or directory; write it with: " +
			"messaging-gen pull --to missing.json"},
		{[]string{"pull", "--to", "folder.json"}, 1, "folder.json is not a regular file"},
		{[]string{"pull", "--to", "mine.go/events.json"}, 3, "open mine.go/gen.json: not a directory"},
		{[]string{"pull", "--to", string(bytes.Repeat([]byte("x"), 250))}, 1, "file name too long"},
		{[]string{"--from", ""}, 2, "--from is empty; see messaging-gen --help"},
		{[]string{"events.json"}, 2, "unexpected argument: events.json; see messaging-gen --help"},
		{[]string{"pull", "events.json"}, 2, "unexpected argument: events.json; see messaging-gen --help"},
		{[]string{"pull", "--out", "x"}, 2, "flag provided but not defined: -out; see messaging-gen --help"},
	} {
		r := gen(t, test.args...)
		assert.Equal(t, test.code, r.code, test.args)
		assert.Contains(t, r.stderr, test.stderr+"\n")
		assert.Empty(t, r.stdout)
	}
}

func TestServiceThatDoesNotAnswerAsItShould(t *testing.T) {
	service := inAnEmptyFolder(t)
	for _, test := range []struct {
		baseURL, key string
		code         int
		stderr       string
	}{
		{service.URL(), "another-key", 4, "401 Unauthorized"},
		{service.URL(), "", 2, "set MESSAGING_BASE_URL and MESSAGING_API_KEY"},
		{"", "another-key", 2, "set MESSAGING_BASE_URL and MESSAGING_API_KEY"},
		{"http://example.com", "another-key", 2, "must be https"},
		{"http://127.0.0.1:1", "another-key", 8, "connection refused"},
		{service.URL() + "/v0", service.APIKey(), 1, "404"},
	} {
		t.Setenv("MESSAGING_BASE_URL", test.baseURL)
		t.Setenv("MESSAGING_API_KEY", test.key)
		r := gen(t, "pull")
		assert.Equal(t, test.code, r.code, test.stderr)
		assert.Contains(t, r.stderr, test.stderr)
	}
	assert.NoFileExists(t, "events.json")
}

// failing is a writer that fails.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestOutputThatIsLostIsAnErrorUnlessItsPipeIsClosed(t *testing.T) {
	inAnEmptyFolder(t)
	full, closed := failing{errors.New("no space left on device")}, failing{&fs.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}}
	var stderr bytes.Buffer
	for _, args := range [][]string{{"--help"}, {"pull", "--check"}} {
		stderr.Reset()
		assert.Equal(t, 1, run(t.Context(), args, full, &stderr), args)
		assert.Equal(t, "messaging-gen: no space left on device\n", stderr.String())
	}
	assert.Equal(t, 0, run(t.Context(), []string{"--help"}, closed, io.Discard))
	assert.Equal(t, 10, run(t.Context(), []string{"pull", "--check"}, closed, io.Discard))
	assert.Equal(t, 1, run(t.Context(), []string{"pull"}, io.Discard, full))
	assert.Equal(t, 0, run(t.Context(), []string{"pull", "--to", "again.json"}, io.Discard, closed))
}

func TestHelpIsPrinted(t *testing.T) {
	for _, args := range [][]string{{"--help"}, {"-h"}, {"pull", "--help"}} {
		assert.Equal(t, result{0, help, ""}, gen(t, args...))
	}
}
