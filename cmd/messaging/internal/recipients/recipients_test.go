package recipients_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
)

func read(t *testing.T, name, content string, skipBad bool) (*recipients.List, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return recipients.Read(path, ',', nil, skipBad)
}

var ada = messaging.CustomerParams{Email: "ada@example.com", FirstName: "Ada"}

func TestReadUnderstandsWhatSpreadsheetsWrite(t *testing.T) {
	for name, content := range map[string]string{
		"a.csv":   "\ufeffemail,first_name\r\nada@example.com,Ada\r\n",
		"b.csv":   "email,first_name\n\"ada@example.com\",\"Ada\"\n\n",
		"c.CSV":   "first_name,email\nAda,ada@example.com",
		"a.jsonl": "{\"email\": \"ada@example.com\", \"first_name\": \"Ada\"}\n\n",
	} {
		list, err := read(t, name, content, false)
		require.NoError(t, err, name)
		assert.Equal(t, []messaging.CustomerParams{ada}, list.Customers, name)
	}
}

func TestReadRecognizesTheFormatOfStdin(t *testing.T) {
	for _, content := range []string{"email,first_name\nada@example.com,Ada\n",
		"\ufeff{\"email\":\"ada@example.com\",\"first_name\":\"Ada\"}"} {
		list, err := recipients.Read("-", ',', strings.NewReader(content), false)
		require.NoError(t, err)
		assert.Equal(t, []messaging.CustomerParams{ada}, list.Customers)
	}
}

func TestReadRecognizesTheFormatOfAPipe(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its shells have no <(command)")
	}
	in, out, err := os.Pipe()
	require.NoError(t, err)
	defer in.Close()
	_, err = out.WriteString("email,first_name\nada@example.com,Ada\n")
	require.NoError(t, errors.Join(err, out.Close()))
	list, err := recipients.Read(fmt.Sprintf("/dev/fd/%d", in.Fd()), ',', nil, false)
	require.NoError(t, err)
	assert.Equal(t, []messaging.CustomerParams{ada}, list.Customers)
}

func TestReadNeverTakesNobodyForEverybody(t *testing.T) {
	for _, content := range []string{"", "email\n", "\n\n"} {
		_, err := read(t, "a.csv", content, true)
		assert.Equal(t, exit.Usage, exit.CodeOf(err), "%q: %v", content, err)
		_, err = read(t, "a.jsonl", content[:0], true)
		assert.Equal(t, exit.Usage, exit.CodeOf(err), "%v", err)
	}
	_, err := recipients.Read("", ',', nil, true)
	assert.Equal(t, exit.Usage, exit.CodeOf(err))
	_, err = read(t, "a.xlsx", "PK\x03\x04email\nada@example.com\n", true)
	assert.ErrorContains(t, err, "a.xlsx: the file is a spreadsheet")
}

func TestReadNamesTheLineAndTheColumn(t *testing.T) {
	for content, want := range map[string]string{
		"email;first_name\na;b\n": "line 1: the header has no comma; pass --delimiter ';'",
		"\" Email\"\n":            "line 1, column 1 ( Email): is no field of a customer; did you mean email?",
		"email,nickname\n": "line 1, column 7 (nickname): is no field of a customer; must be one of customer_id, email, first_name, " +
			"last_name, phone_no",
		"email,email\n":                          `line 1: headers 1 and 2 are both "email"`,
		"first_name\nAda\n":                      "line 1: there must be a column email or customer_id",
		"email\nada@example.com\n\"b\"c\n":       "line 3, column 3: a quoted value that begins at line 3 does not end properly",
		"email\nada@example.com\nAda\n":          `line 3: email "Ada" must be an email address`,
		"email\nada@example.com,Ada\n":           "line 2: has 2 values, but the header has 1 columns",
		"email,first_name\n,Ada\n":               "line 2: must have a customer_id or an email",
		"email,first_name\na@b.test,M\xfcller\n": "line 2, column 10 (first_name): is not UTF-8",
	} {
		_, err := read(t, "a.csv", content, false)
		assert.ErrorContains(t, err, want, content)
		assert.Equal(t, exit.Usage, exit.CodeOf(err))
	}
	_, err := read(t, "a.jsonl", "{\"email\":\"a@b.test\"}\n{\"emial\":\"a@b.test\"}\n", false)
	assert.ErrorContains(t, err, "line 2, column 10 (emial): is no field of a customer; did you mean email?")
}

func TestReadSurvivesManyColumnsAndManyProblems(t *testing.T) {
	_, err := read(t, "a.csv", strings.Repeat("x,", 100_000)+"x\n", false)
	assert.Less(t, len(err.Error()), 300)
	_, err = read(t, "a.csv", "email\n"+strings.Repeat("nobody\n", 1000), false)
	assert.ErrorContains(t, err, "1,000 rows cannot be used:")
	assert.ErrorContains(t, err, "\n  and 990 more\nfix the file, or pass --skip-bad-rows")
}

func TestReadCountsWhatItLeavesOut(t *testing.T) {
	list, err := read(t, "a.csv", "email,first_name\nada@example.com,Ada\nADA@example.com,\nnobody,\n"+
		"grace@example.com,\"Gra\nce\"\nalan@example.com,\n", true)
	require.NoError(t, err)
	assert.Len(t, list.Customers, 2)
	assert.Equal(t, 1, list.Duplicates)
	assert.Equal(t, 2, list.Bad.Count)
	assert.Contains(t, list.Bad.String(), "\n  line 4: ")
	assert.Contains(t, list.Bad.String(), "\n  line 5: ", "a line break in a name")
}

func TestReadTakesTwoCustomersForOneOnlyIfTheirIDsAndAddressesAreEqual(t *testing.T) {
	list, err := read(t, "a.csv", "customer_id,email\nA1,a@x.test\na1,a@x.test\nA1,b@x.test\nA1,A@x.test\n", false)
	require.NoError(t, err)
	assert.Len(t, list.Customers, 3)
	assert.Equal(t, 1, list.Duplicates)
	assert.True(t, list.Has("B@X.test"))
	assert.False(t, list.Has(""))
}

func TestReadMatchesTheKeysOfJSONToTheLetter(t *testing.T) {
	list, err := read(t, "a.jsonl", `{"email":"a@b.test","devices":[{"device_type":"ios","device_token":"t"}]}`, false)
	require.NoError(t, err)
	assert.Equal(t, []messaging.Device{{DeviceType: "ios", DeviceToken: "t"}}, list.Customers[0].Devices)
	for row, want := range map[string]string{
		`{"email":"a@b.test","Email":"c@d.test"}`:                                  "(Email): is no field of a customer; did you mean email?",
		`{"email":"a@b.test","email":"c@d.test"}`:                                  "(email): occurs twice",
		`{"email":"a@b.test","devices":[{"Device_Token":"t"}]}`:                    `unknown field "Device_Token"`,
		`{"email":"a@b.test","devices":[{"device_token":"t","device_token":"u"}]}`: `"device_token" is there already`,
		`{"email":"a@b.test","first_name":1}`:                                      "(first_name): must be a text",
	} {
		_, err := read(t, "a.jsonl", row+"\n", false)
		assert.ErrorContains(t, err, want, row)
	}
}
