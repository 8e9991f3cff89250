package recipients_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/recipients"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
)

func read(name, content string, skipBad bool) (*recipients.List, error) {
	return recipients.Read(rows.Source{Name: name, Delimiter: ','}, strings.NewReader(content), skipBad)
}

func TestReadNamesTheLineAndTheColumn(t *testing.T) {
	for content, want := range map[string]string{
		"email,devices\nada@example.com,ios\n":       "line 2, column 17 (devices): must be an array, which only JSON can hold",
		"first_name\nAda\n":                          "line 1: there is neither a column email nor a column customer_id",
		"email\nada@example.com\nAda\n":              `line 3: email "Ada" must be an email address`,
		"email\n" + strings.Repeat("nobody\n", 1000): "\n  and 990 more\nfix the file, or pass --skip-bad-rows",
	} {
		_, err := read("a.csv", content, false)
		assert.ErrorContains(t, err, want, content)
		assert.Equal(t, exit.Usage, exit.CodeOf(err))
	}
	for row, want := range map[string]string{
		`{"email":"a@b.test","Email":"c@d.test"}`: "line 2: unknown: " +
			`"Email"; a column holds a field of a customer`,
		`{"email":"a@b.test","devices":[{"Device_Token":"t"}]}`:                    `unknown field "Device_Token"`,
		`{"email":"a@b.test","devices":[{"device_token":"t","device_token":"u"}]}`: `"device_token" is there already`,
		`{"email":"a@b.test","first_name":1}`:                                      "line 2 (first_name): must be a text",
	} {
		list, err := read("a.jsonl", `{"email":"a@b.test","devices":[{"device_type":"ios","device_token":"t"}]}`+"\n"+row, true)
		require.NoError(t, err, row)
		assert.Equal(t, []messaging.Device{{Type: "ios", Token: "t"}}, list.Customers[0].Devices)
		assert.Contains(t, list.Bad.String(), want)
	}
}

func TestReadCountsWhatItLeavesOut(t *testing.T) {
	list, err := read("a.csv", "customer_id,email,first_name\n,ada@example.com,Ada\n,ADA@example.com,\n,nobody,\n"+
		",grace@example.com,\"Gra\nce\"\n,alan@example.com,\nA1,a@x.test,\na1,a@x.test,\nA1,b@x.test,\nA1,A@x.test,\n", true)
	require.NoError(t, err)
	assert.Len(t, list.Customers, 5, "two are one only if their ids and addresses are equal")
	assert.Equal(t, 2, list.Duplicates)
	assert.Equal(t, 2, list.Bad.Count)
	assert.Contains(t, list.Bad.String(), "\n  line 4: ")
	assert.Contains(t, list.Bad.String(), "\n  line 5: ", "a line break in a name")
}
