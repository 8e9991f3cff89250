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
	return recipients.Read(path, nil, skipBad)
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
		list, err := recipients.Read("-", strings.NewReader(content), false)
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
	list, err := recipients.Read(fmt.Sprintf("/dev/fd/%d", in.Fd()), nil, false)
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
	_, err := recipients.Read("", nil, true)
	assert.Equal(t, exit.Usage, exit.CodeOf(err))
	_, err = read(t, "a.xlsx", "email\nada@example.com\n", true)
	assert.ErrorContains(t, err, "must end in .csv or .jsonl")
}

func TestReadNamesTheLineAndTheColumn(t *testing.T) {
	for content, want := range map[string]string{
		"email;first_name\na;b\n": `line 1: column 1: "email;first_name" must be one of ` +
			`customer_id, email, first_name, last_name, phone_no; the separator must be a comma`,
		"\" Email\"\n": `line 1: column 1: " Email" must be one of ` +
			`customer_id, email, first_name, last_name, phone_no; did you mean email?`,
		"email,nickname\n":                            `line 1: column 2: "nickname" must be one of`,
		"email,email\n":                               "line 1: column 2: email is column 1 already",
		"first_name\nAda\n":                           "line 1: there must be a column email or customer_id",
		"email\nada@example.com\n\"b\"c\n":            "line 3: column 3: extraneous",
		"email\nada@example.com\nAda\n":               `line 3: email "Ada" must be an email address`,
		"email\nada@example.com,Ada\n":                "line 2: has 2 columns; the first line has 1",
		"email,first_name\n,Ada\n":                    "line 2: must have a customer_id or an email",
		"email,first_name\na@b.test,M\xfcller\n":      "line 2: is not UTF-8",
		"email,customer_id\na@b.test,1\nA@b.test,2\n": "line 3: has the email of line 2, but is another customer",
		"email,customer_id\na@b.test,1\nb@b.test,1\n": "line 3: has the customer_id of line 2, but is another customer",
	} {
		_, err := read(t, "a.csv", content, false)
		assert.ErrorContains(t, err, want, content)
		assert.Equal(t, exit.Usage, exit.CodeOf(err))
	}
	_, err := read(t, "a.jsonl", "{\"email\":\"a@b.test\"}\n{\"emial\":\"a@b.test\"}\n", false)
	assert.ErrorContains(t, err, `line 2: unknown field "emial"; did you mean email?`)
}

func TestReadSurvivesManyColumnsAndManyProblems(t *testing.T) {
	_, err := read(t, "a.csv", strings.Repeat("x,", 100_000)+"x\n", false)
	assert.Less(t, len(err.Error()), 300)
	_, err = read(t, "a.csv", "email\n"+strings.Repeat("nobody\n", 1000), false)
	assert.ErrorContains(t, err, "1,000 rows cannot be used:")
	assert.ErrorContains(t, err, "\nand 990 more\nfix the file, or pass --skip-bad-rows")
}

func TestReadCountsWhatItLeavesOut(t *testing.T) {
	list, err := read(t, "a.csv", "email,first_name\nada@example.com,Ada\nADA@example.com,\nnobody,\n"+
		"grace@example.com,\"Gra\nce\"\nalan@example.com,\n", true)
	require.NoError(t, err)
	assert.Len(t, list.Customers, 2)
	assert.Equal(t, 1, list.Duplicates)
	require.Len(t, list.Bad, 2)
	assert.ErrorContains(t, list.Bad[0], "line 4: ")
	assert.ErrorContains(t, list.Bad[1], "line 5: ", "a line break in a name")
}

func TestReadDoesNotUseAnAddressWithAnInvisibleCharacter(t *testing.T) {
	_, err := read(t, "a.csv", "email,customer_id\na\u200bda@example.com,c-1\ngrace@example.com,c\u2060-2\n", false)
	assert.ErrorContains(t, err, `line 2: email contains an invisible character: "a\u200bda@example.com"`)
	assert.ErrorContains(t, err, `line 3: customer_id contains an invisible character: "c\u2060-2"`)
}

func TestReadNotesIdsThatLookLikeAMistake(t *testing.T) {
	ids := []string{"NULL", "#REF!", "{{id}}", "ada@example.com", "1.00E+03", "1.5e11", "1002.0", "TRUE", "1-Mar", "Mar-26",
		"3/4/2026", "2026-03-01", "Total", "unknown", "#NV", "########", "Err:502", "<NA>", `\N`, "--", "?"}
	list, err := read(t, "a.csv", "customer_id\nc-1\nNULLA\nabc-12\nv1.5\n1e\n#12\n"+strings.Join(ids, "\n")+"\n", false)
	require.NoError(t, err)
	require.Len(t, list.Odd, len(ids))
	for i, id := range ids {
		assert.ErrorContains(t, list.Odd[i], id)
	}
	assert.ErrorContains(t, list.Odd[0], `line 8: customer_id "NULL" looks like a missing value`)
}

func TestReadNotesWhatLooksLikeAMistake(t *testing.T) {
	uuids := "customer_id\n"
	for i := range 40 {
		uuids += fmt.Sprintf("5eed0000-0000-4000-8000-%012d\n", i)
	}
	for content, want := range map[string]string{
		uuids + "1234\n":           `line 42: customer_id "1234" is a number, unlike nearly all others`,
		"customer_id\nc-1\nC_01\n": `line 3: customer_id "C_01" differs from that of line 2 only in its spelling`,
		"email\na@bücher.test\na@xn--bcher-kva.test\n": `line 3: email "a@xn--bcher-kva.test" differs from that of line 2 only in its ` +
			`spelling`,
		"email\na@example.c\n":                  `line 2: email "a@example.c" looks cut off or misspelled`,
		"email\na@e..com\n":                     `line 2: email "a@e..com" looks cut off or misspelled`,
		"email\na@localhost\n":                  `line 2: email "a@localhost" looks cut off or misspelled`,
		"email,first_name\na@x.test,b@x.test\n": `line 2: first_name "b@x.test" looks like an email address`,
		"email,last_name\na@x.test,1815\n":      `line 2: last_name "1815" looks like a number`,
		"email,first_name\na@x.test,#N/A\n":     `line 2: first_name "#N/A" looks like a missing value`,
		"customer_id,email\nc-1,\n,a@x.test\n": `line 3: may have the customer of line 2: one row has only an id, ` +
			`and the other only an address`,
		"customer_id,email\nc-1,\nc-2,b@x.test\n,a@x.test\n": `line 4: may have the customer of line 2: one row has only an id, ` +
			`and the other only an address`,
	} {
		list, err := read(t, "a.csv", content, false)
		require.NoError(t, err, content)
		require.Len(t, list.Odd, 1, content)
		assert.ErrorContains(t, list.Odd[0], want)
	}
	list, err := read(t, "a.csv", "customer_id,email\nc-1,\n,a@x.test\nc-1,a@x.test\n", false)
	require.NoError(t, err)
	assert.ErrorContains(t, list.Odd[0], `line 4: customer_id "c-1" shows that lines 2 and 3 are the same customer, who gets it twice`)
	list, err = read(t, "a.csv", uuids, false)
	require.NoError(t, err)
	assert.Empty(t, list.Odd)
}

func TestReadDoesNotUseAnIDThatMayStandForSeveralCustomers(t *testing.T) {
	_, err := read(t, "a.csv", "customer_id\nc-1\nAnn Lee\n", false)
	assert.ErrorContains(t, err, `line 3: "Ann Lee" may stand for several customers, as an id with a space does`)
	_, err = read(t, "a.csv", "customer_id,phone_no\nc-1,+49 170 123\n", false)
	assert.ErrorContains(t, err, `line 2: phone_no must be a number without spaces, such as +491701234567, and not "+49 170 123"`)
}
