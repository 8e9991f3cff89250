package bulk

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/rows"
	"github.com/messaging-go/messaging/outbox"
)

var shipped = &messaging.Event{ID: "5eed0000-0000-4000-8000-000000000001", Name: "order shipped", Parameters: []messaging.EventParameter{
	{Name: "order", Type: messaging.ParameterText, Required: true},
	{Name: "shipped_at", Type: messaging.ParameterTimestamp},
	{Name: "parcels", Type: messaging.ParameterNumeric},
	{Name: "first_name", Type: messaging.ParameterText},
	{Name: "tags", Type: "list"},
}}

// fileOf returns a file with a text.
func fileOf(name, text string, renamed map[string]string, keyColumn string) *File {
	return &File{Source: rows.Source{Name: name, Delimiter: ',', Columns: rows.Columns{Renamed: renamed}},
		Mapper: &Mapper{shipped, keyColumn}, Content: strings.NewReader(text)}
}

// bodies returns the requests of a file, or its problems. Without a column for it, the key of
// a row has to be the hash of its request, which neither the columns nor the format change.
func bodies(t *testing.T, f *File) (found []string) {
	t.Helper()
	for line, err := range f.lines(t.Context()) {
		if err != nil {
			found = append(found, err.Error())
			continue
		}
		body := line.item.Prepared.Body()
		if f.Mapper.KeyColumn == "" {
			assert.Equal(t, fmt.Sprintf("%x", sha256.Sum256(body)), line.item.Key)
		}
		found = append(found, string(body))
	}
	return found
}

const email = `{"event_id":"5eed0000-0000-4000-8000-000000000001","payload":{"email":"a@example.com",`

func TestRowsBecomeTriggersWithTheTypesOfTheEvent(t *testing.T) {
	assert.Equal(t, []string{
		email + `"order":"1","parcels":12.30,"shipped_at":"2026-11-20T09:00:00Z"}}`,
		email + `"order":"007"}}`,
	}, bodies(t, fileOf("a.csv", "email,order,shipped_at,parcels\n"+
		"a@example.com,1,2026-11-20T10:00:00+01:00,12.30\na@example.com,007,,\n", nil, "")))
	assert.Equal(t, []string{
		email + `"order":"1","parcels":12.30,"shipped_at":"2026-11-20T09:00:00Z","tags":["a",1.50]}}`,
	}, bodies(t, fileOf("a.jsonl", `{"email":"a@example.com","order":"1","parcels":12.30,`+
		`"shipped_at":"2026-11-20T10:00:00+01:00","tags":["a",1.50],"first_name":null}`, nil, "")))
	assert.Equal(t, []string{`{"event_id":"5eed0000-0000-4000-8000-000000000001","payload":{` +
		`"customer":{"customer_id":"c-1","email":"a@example.com","first_name":"Ada"},"first_name":"the first","order":"1"}}`},
		bodies(t, fileOf("a.csv", "mail,nr,customer.first_name,first_name,customer_id,notes\na@example.com,1,Ada,the first,c-1,secret\n",
			map[string]string{"mail": "email", "nr": "order", "notes": ""}, "")), "columns can be renamed")
}

func TestAHeaderThatDoesNotFitTheEventIsAnError(t *testing.T) {
	for header, want := range map[string]string{
		"email,ordr": `line 1: unknown: "ordr"; a column holds a parameter of the event "order shipped" (order, shipped_at, parcels, ` +
			`first_name, tags), or a field of a customer (customer_id, email, first_name, last_name, phone_no). Pass --map "ordr=NAME" if`,
		"email":                `line 1: no column holds "order", which the event requires; pass --map COLUMN=order if it has another name`,
		"order":                `line 2 (email): is required when there is no customer`,
		"email,order,it's new": `--map "it's new=" to leave it out`,
	} {
		assert.Contains(t, bodies(t, fileOf("a.csv", header+"\na@example.com\n", nil, ""))[0], want)
	}
	renamed := map[string]string{"nr": "order"}
	assert.Equal(t, []string{`line 1: "nr" holds "order", as "order" does`}, bodies(t,
		fileOf("a.csv", "email,order,nr\nx,1,2", renamed, "")))
	assert.Equal(t, []string{`--map COLUMN=NAME: the file has no column "nr"`}, bodies(t, fileOf("a.csv", "email,order\nx,1", renamed, "")))
	assert.Equal(t, []string{`--key-column: the file has no column "id"`}, bodies(t,
		fileOf("a.csv", "email,order\nx,1", nil, "id")))
	_, err := fileOf("a.csv", "email,order,color\na@example.com,1,red\n", nil, "").Plan(t.Context())
	assert.ErrorContains(t, err, `line 1: unknown: "color"; a column holds a parameter`, "it is about the file, and not about a row")
}

func TestABadRowSaysWhereAndWhy(t *testing.T) {
	text := "id,email,order,shipped_at,parcels\n" +
		"1,ada,1,,\n" +
		"2,a@example.com,,,\n" +
		"3,a@example.com,1,yesterday,\n" +
		"4,a@example.com,1,,two\n" +
		",a@example.com,1,,\n" +
		"5,,1,,\n" +
		"6,a@example.com,1,,2\n"
	assert.Equal(t, []string{
		"line 2, column 3 (email): must be an email address",
		"line 3, column 17 (order): is required by the event",
		"line 4, column 19 (shipped_at): must be a time with its zone, such as 2026-12-01T09:00:00Z or 2026-12-01T10:00:00+01:00",
		"line 5, column 20 (parcels): must be a number, such as 12.50",
		"line 6, column 1 (id): is the key, which must have 1 to 255 bytes, without spaces around them and without invisible characters",
		"line 7, column 3 (email): is required when there is no customer",
		email + `"order":"1","parcels":2}}`,
	}, bodies(t, fileOf("a.csv", text, nil, "id")))
	for _, found := range bodies(t, fileOf("a.csv", "email,order\n\"a@example.com,b@example.com\",1\na@example.com;b@example.com,1\n",
		nil, "")) {
		assert.Contains(t, found, "(email): must be an email address", "a row is one recipient")
	}
	assert.Equal(t, []string{
		`line 1 (email): must be a text`,
		`line 2: unknown: "color"; a column holds a parameter of the event "order shipped" (order, shipped_at, parcels, first_name, ` +
			`tags), or a field of a customer (customer_id, email, first_name, last_name, phone_no). Pass --map "color=NAME" if it has ` +
			`another name, --map "color=" to leave it out, or --ignore-other-columns to leave out all that are unknown`,
		"line 3 (id): is missing, and is the key",
	}, bodies(t, fileOf("a.jsonl", `{ "email": 1}
{"email":"a@example.com", "color": "red"}
{"email":"a@example.com", "order": "1"}`, nil, "id")))
}

func TestATimeNeedsAZoneInAnyForm(t *testing.T) {
	for at, want := range map[string]string{"2026-11-20 10:00:00+00": "10:00:00Z", "2026-11-20 10:00:00.5+0100": "09:00:00Z",
		"2026-11-20T10:00:00-01:00": "11:00:00Z", "2026-11-20 10:00:00Z": "10:00:00Z", "2026-11-20 10:00:00": "must be a time with its zone",
		"2026-11-20": "must be a time with its zone", "2026-11-20 10:00:00 CET": "must be a time with its zone"} {
		assert.Contains(t, bodies(t, fileOf("a.csv", "email,order,shipped_at\na@example.com,1,"+at+"\n", nil, ""))[0], want)
	}
}

func TestAKeyThatLooksLikeAnotherOneIsABadRow(t *testing.T) {
	for key, bad := range map[string]bool{"A 1": false, "É1": false, " 1": true, "1\u00a0": true, "1\u200b": true, "\ufeff1": true,
		"1\t": true} {
		found := bodies(t, fileOf("a.csv", "email,order\na@example.com,"+key+"\n", nil, "order"))
		assert.Equal(t, bad, strings.Contains(found[0], "is the key, which must have"), "%q: %s", key, found)
	}
}

func TestAPlanCountsWhatItWouldDo(t *testing.T) {
	text := "email,order\na@example.com,1\na@example.com,1\nb@example.com,2\nbroken,3\n"
	plan, err := fileOf("a.csv", text, nil, "").Plan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []int{2, 1, 1}, []int{plan.Rows, plan.Repeated, plan.Bad.Count})
	changed, err := fileOf("a.csv", strings.Replace(text, "b@", "c@", 1), nil, "").Plan(t.Context())
	require.NoError(t, err)
	assert.NotEqual(t, plan.Digest, changed.Digest)

	_, err = fileOf("a.csv", "email,order\n", nil, "").Plan(t.Context())
	assert.EqualError(t, err, "the file has no rows")
	plan, err = fileOf("a.csv", "email,order\na@example.com,1\nb@example.com,1\n", nil, "order").Plan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "\n  line 3: the key \"1\" has other content in line 2", plan.Conflicts.String())
}

func TestAGuardRefusesRowsBeforeTheyAreImported(t *testing.T) {
	file := fileOf("a.csv", "email,order\na@example.com,1\na@acme.test,1\n", nil, "")
	client, err := messaging.NewClient("http://127.0.0.1", "a-key-of-the-tests", messaging.WithAllowOnly("@acme.test"))
	require.NoError(t, err)
	file.Check = client.Check
	found := bodies(t, file)
	assert.Contains(t, found[0], "line 2: is refused: ")
	assert.NotContains(t, found[0], "a@example.com")
	assert.Contains(t, found[1], "a@acme.test")
}

func TestAPlanLooksIntoTheOutbox(t *testing.T) {
	text := "email,order\n"
	for i := range 2*lookupBatch + 3 {
		text += fmt.Sprintf("a%d@example.com,%d\n", i, i)
	}
	file := fileOf("a.csv", text, nil, "order")
	calls := 0
	file.Lookup = func(_ context.Context, items ...outbox.Item) (found []outbox.Presence, _ error) {
		calls++
		known := map[string]outbox.Presence{"1": outbox.Present, "1002": outbox.Present, "2": outbox.Conflict}
		for _, item := range items {
			found = append(found, cmp.Or(known[item.Key], outbox.Absent))
		}
		return found, nil
	}
	plan, err := file.Plan(t.Context())
	require.NoError(t, err)
	assert.Equal(t, 3, calls)
	assert.Equal(t, []int{1003, 2, 1, 1000}, []int{plan.Rows, plan.Present, plan.Conflicts.Count, plan.New()})
	assert.Equal(t, "\n  line 4: the key \"2\" has other content in the outbox", plan.Conflicts.String())
	assert.Contains(t, string(plan.First.Body()), "a0@example.com")
}
