package records_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
)

func TestDemoSeedHasEveryKind(t *testing.T) {
	seed := records.Demo()
	assert.Len(t, seed[records.Customers], 24)
	assert.Len(t, seed[records.Events], 4)
	assert.Len(t, seed[records.Messages], 6)
	assert.Equal(t, "order shipped", seed[records.Events][0].Line().Title)
}

func TestSeedErrorsNameTheLineAndTheField(t *testing.T) {
	tests := []struct {
		name, seed, want string
	}{
		{"an unknown key", "{\n\"customer\": []}", "line 2: customer: unknown key; must be " + records.Names("or")},
		{"an unknown key of a record", "{\"customers\": [\n{\"email\": \"a@b.test\"},\n{\n\"emial\": \"a@b.test\"}]}",
			"line 4: customers.1.emial: unknown key; must be one of customer_created_at, customer_id, "},
		{"no identifier", "{\"customers\": [\n{\"first_name\": \"Ada\"}]}", "line 2: customers.0: a customer_id or an email is required"},
		{"a nameless event", "{\"events\":\n\n[{}]}", "line 3: events.0: a name is required"},
		{"a parameter without a type", "{\"events\":[{\"name\":\"n\",\"parameters\":[{\"name\":\"p\"}]}]}",
			"line 1: events.0: a parameter needs a name and a type"},
		{"a message without a channel", "{\"messages\":[{}]}", "line 1: messages.0: a channel is required"},
		{"a list of another kind", "{\"events\":\n{}}", "line 2: events: must be an array"},
		{"a record of another kind", "{\"events\":[\n1]}", "line 2: events.0: must be an object"},
		{"a field of another kind", "{\"events\":[\n{\"name\":\n{}}]}", "line 3: events.0.name: must be a string"},
		{"a number as an address", "{\"customers\":[{\"customer_id\":\"1\",\n\"email\": 5}]}", "line 2: customers.0.email: must be a string"},
		{"an unknown key of a parameter",
			"{\"events\":[{\"name\":\"n\",\"parameters\":[\n{\"name\":\"p\",\"type\":\"text\",\n\"requierd\":true}]}]}",
			"line 3: events.0.parameters.0.requierd: unknown key; must be one of name, required, type"},
		{"a parameter of another kind", "{\"events\":[{\"name\":\"n\",\"parameters\":[\n1]}]}",
			"line 2: events.0.parameters.0: must be an object"},
		{"an invalid time", "{\"customers\":[\n{\"email\":\"a@b.test\",\"updated_at\":\"yesterday\"}]}",
			"line 2: customers.0.updated_at: cannot be read"},
		{"an invalid address", "{\"customers\":[{\"email\":\"a\"}]}", "line 1: customers.0: email: is not an email address"},
		{"an id that stands twice", "{\"events\":[{\"id\":\"e\",\"name\":\"n\"},\n{\"id\":\"e\",\"name\":\"m\"}]}",
			"line 2: events.1.id: duplicates events.0"},
		{"a customer id that stands twice", "{\"customers\":[{\"customer_id\":\"1\"},\n{\"customer_id\":\"1\"}]}",
			"line 2: customers.1.customer_id: duplicates customers.0"},
		{"an array", "\n[]", "line 2: must be an object"},
		{"malformed JSON", "{\"events\":[\n{\"name\": nope}]}", "line 2: invalid character 'o'"},
		{"JSON that ends early", "{\"events\":[\n{\"name\": \"n\"", "line 2: the JSON ends early"},
		{"nothing", "", "line 1: the JSON ends early"},
		{"more text", "{}\n{}", "line 2: more text after the object"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := records.ParseSeed([]byte(test.seed))
			require.ErrorContains(t, err, test.want)
			var broken *records.SeedError
			assert.True(t, errors.As(err, &broken))
		})
	}
}
