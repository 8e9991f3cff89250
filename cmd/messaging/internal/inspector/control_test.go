package inspector_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestResetSelectsWhatIsReset(t *testing.T) {
	f := start(t, records.Demo())
	fill := func() {
		f.fill()
		require.Equal(t, 200, f.post("/api/faults", `{"fault":{"kind":"answer_lost"}}`).Status)
	}
	customers := func() int { return len(f.box.Records.All(records.Customers)) }
	fill()
	last := f.box.History.State().Last

	require.Equal(t, 204, f.post("/api/reset?what=history", "").Status)
	assert.Contains(t, f.get("/api/requests").Body, `{"items":[],"next":null}`)
	assert.Equal(t, 25, customers())
	assert.Len(t, f.box.Rules(), 1)

	require.Equal(t, 204, f.post("/api/reset?what=faults", "").Status)
	assert.Empty(t, f.box.Rules())

	fill()
	require.Equal(t, 204, f.post("/api/reset", "").Status)
	assert.Empty(t, f.box.Rules())
	assert.Equal(t, 24, customers(), "the seed is back")
	assert.Equal(t, 25+1, f.box.Records.All(records.Customers)[23].Number, "no number is used again")
	assert.Contains(t, f.get("/customers").Body, ">24</span>")
	f.send("GET", "/v1/events", "")
	assert.Contains(t, f.get("/api/requests").Body, `"number":`+string(must(json.Marshal(2*last+1))))
}

func TestDumpIsASeed(t *testing.T) {
	f := start(t, records.Demo())
	f.fill()
	dump := f.get("/api/dump").Body
	seed, err := records.ParseSeed([]byte(dump))
	require.NoError(t, err)
	assert.Len(t, seed[records.Customers], 25)
	again := start(t, seed)
	assert.Equal(t, dump, again.get("/api/dump").Body)
	assert.NotContains(t, dump, "REDACTED", "a dump has nothing of the history")
}

func TestSeedWithAnIDThatExistsAddsNothing(t *testing.T) {
	f := start(t, records.Demo())
	before := f.get("/api/dump").Body
	for seed, want := range map[string]string{
		`{"events":[{"name":"new"},{"id":"` + orderShipped + `","name":"n"}]}`:                       "events.1.id: already exists",
		`{"customers":[{"email":"new@example.com"},{"customer_id":"c-1001"}]}`:                       "customers.1.customer_id: already exists",
		`{"messages":[{"id":"` + records.Demo()[records.Messages][0].ID() + `","channel":"email"}]}`: "messages.0.id: already exists",
	} {
		got := f.post("/api/seed", seed)
		assert.Equal(t, 422, got.Status)
		assert.Contains(t, got.Body, want)
	}
	assert.Equal(t, before, f.get("/api/dump").Body, "nothing of them was added")
	assert.Equal(t, 200, f.post("/api/seed", `{"events":[{"id":"new","name":"n"}],"customers":[{"email":"new@example.com"}]}`).Status)
	assert.Equal(t, 422, f.post("/api/seed", `{"events":[{"id":"new","name":"n"}]}`).Status)
}

func TestAnEmptyDumpIsASeed(t *testing.T) {
	f := start(t, records.Seed{})
	var members []string
	for _, kind := range records.Kinds {
		members = append(members, `"`+kind.Name+`":[]`)
	}
	assert.Equal(t, "{"+strings.Join(members, ",")+"}\n", f.get("/api/dump").Body)
	for _, seed := range []string{f.get("/api/dump").Body, `{"customers":null,"events":null,"messages":null}`, `{}`,
		`{"customers":[{"email":"ada@example.com"}],"events":null}`} {
		_, err := records.ParseSeed([]byte(seed))
		assert.NoError(t, err, seed)
	}
}

func TestAValueOfAnotherTypeIsNamedWithoutTheTypesOfGo(t *testing.T) {
	f := start(t, records.Demo())
	for body, want := range map[string]string{
		`{"fault":{"kind":"slow","after":1}}`: `fault.after: must be a text such as "7s", and not a number`,
		`{"fault":"answer_lost"}`:             "fault: must be an object, and not a string",
		`{"count":"2"}`:                       "count: must be a whole number, and not a string",
		`[]`:                                  "must be an object, and not an array",
	} {
		reply := f.post("/api/faults", body)
		assert.Equal(t, 422, reply.Status)
		var failure struct{ Error string }
		require.NoError(t, json.Unmarshal([]byte(reply.Body), &failure))
		assert.Equal(t, want, failure.Error)
	}
}
