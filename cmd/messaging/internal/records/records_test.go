package records_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

func TestSeedsHaveEveryKind(t *testing.T) {
	seed := records.Demo()
	assert.Equal(t, []int{24, 4, 6}, []int{len(seed[records.Customers]), len(seed[records.Events]), len(seed[records.Messages])})
	assert.Equal(t, "order shipped", seed[records.Events][0].Texts()[0])
	seed, err := records.ParseSeed([]byte(`{"customers":[{"email":"a@b.test","providers":"Google FCM,email"}],"events":null}`))
	require.NoError(t, err)
	assert.Equal(t, []string{"Google FCM", "email"}, seed[records.Customers][0].(records.Customer).Providers, "divided at commas alone")
}

func TestEveryKindIsInTheDemoAndIsStoredCountedAndRemoved(t *testing.T) {
	store := records.Store{Server: fake.New(fake.Config{})}
	demo := records.Demo()
	require.NoError(t, store.Add(demo))
	for _, kind := range records.Kinds {
		assert.NotEmpty(t, demo[kind], "%s: add some to demo.json", kind.Name)
		assert.Equal(t, len(demo[kind]), store.Count(kind), kind.Name)
		assert.Len(t, store.All(kind), len(demo[kind]), kind.Name)
	}
	store.Reset(records.Seed{})
	for _, kind := range records.Kinds {
		assert.Zero(t, store.Count(kind), "%s: the reset of the fake forgets them", kind.Name)
		assert.Empty(t, store.All(kind), kind.Name)
	}
}

func TestSeedErrorsNameTheLineOrTheRecord(t *testing.T) {
	for name, test := range map[string]struct{ seed, want string }{
		"an unknown key": {"{\n\"customer\": []}", `line 2: unknown field "customer"; must be customers, events`},
		"an unknown key of a record": {"{\"customers\": [\n{\"email\": \"a@b.test\"},\n{\n\"emial\": \"a@b.test\"}]}",
			`line 4: unknown field "emial"; must be customer_id,`},
		"no identifier": {`{"customers": [{"email":"a@b.test"},{"first_name": "Ada"}]}`,
			"customers.1: a customer_id or an email is required"},
		"a nameless event":           {`{"events":[{}]}`, "events.0: a name is required"},
		"a parameter without a type": {`{"events":[{"name":"n","parameters":[{"name":"p"}]}]}`, "events.0: a parameter needs a name and a type"},
		"a message without channel":  {`{"messages":[{}]}`, "messages.0: a channel is required"},
		"a list of another kind":     {"{\"events\":\n{}}", "line 2: events must be an array"},
		"a record of another kind":   {"{\"events\":[\n1]}", "line 2: events must be an object"},
		"a field of another kind":    {"{\"customers\":[{\"customer_id\":\"1\",\n\"email\": 5}]}", "line 2: customers.email must be a string"},
		"an unknown key of a parameter": {
			"{\"events\":[{\"name\":\"n\",\"parameters\":[\n{\"name\":\"p\",\"type\":\"text\",\n\"requierd\":true}]}]}",
			`line 3: unknown field "requierd"; must be name, type or required`},
		"an invalid time": {"{\n\"customers\":[{\"email\":\"a@b.test\",\n\"updated_at\":\"yesterday\"}]}",
			`line 3: "yesterday" must be a time such as 2026-11-21T09:00:00Z`},
		"an invalid address":  {`{"customers":[{"email":"a"}]}`, "customers.0: email: is not an email address"},
		"an id that is there": {`{"events":[{"id":"e","name":"n"},{"id":"e","name":"m"}]}`, "events.1.id: duplicates events.0"},
		"a customer id that is there": {`{"customers":[{"customer_id":"1"},{"customer_id":"1"}]}`,
			"customers.1.customer_id: duplicates customers.0"},
		"a key that is there": {"{\"events\":[],\n\"events\":[]}", `line 2: "events" is there already`},
		"an array":            {"[]", "line 1: the JSON must be an object"},
		"malformed JSON":      {"{\"events\":[\n{\"name\": nope}]}", "line 2: invalid character 'o'"},
		"more text":           {"{}\n{}", "line 2: invalid character '{' after top-level value"},
	} {
		_, err := records.ParseSeed([]byte(test.seed))
		assert.ErrorContains(t, err, test.want, name)
	}
}

func TestKindsAreTheListsOfTheService(t *testing.T) {
	for list := range service.Lists() {
		assert.NotNil(t, records.Listed(list), "%s has no kind of records: declare one in internal/records", list.Name)
	}
	lists := slices.Collect(service.Lists())
	for _, k := range records.Kinds {
		assert.Contains(t, lists, k.List, k.Name)
		assert.Same(t, k, records.Listed(k.List), "%s is declared twice", k.List.Name)
	}
	assert.Nil(t, records.Listed(service.TriggerEvent))
	assert.Regexp(t, "^customers, events.* or [a-z]+$", records.Names("or"))
}
