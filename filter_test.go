package messaging_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// A nil slice is what Go calls empty, such as the result of slices.Collect of nothing.
func TestOnlyOfNothingNeverSelectsEveryone(t *testing.T) {
	for name, ids := range map[string][]string{"nil": nil, "empty": {}, "collected": slices.Collect(strings.SplitSeq("a", "a"))[:0]} {
		const problem = " must have at least one value, since the service would select all customers without one"
		scripted.RequireAlwaysInvalid(t, listingCustomers(messaging.CustomerListParams{CustomerIDs: messaging.Only(ids...)}),
			[]string{"customer_ids" + problem})
		scripted.RequireAlwaysInvalid(t, listingCustomers(messaging.CustomerListParams{Emails: messaging.Only(ids...)}),
			[]string{"emails" + problem})
		assert.NotNil(t, messaging.Only(ids...).Values(), name)
	}
	assert.Nil(t, messaging.Filter{}.Values())
}

func TestAFilterKeepsItsValues(t *testing.T) {
	ids := []string{"1", "2"}
	filter := messaging.Only(ids...)
	ids[0] = "3"
	filter.Values()[1] = "4"
	assert.Equal(t, []string{"1", "2"}, filter.Values())
}

func TestFiltersAreEqualInOrder(t *testing.T) {
	filters := []messaging.Filter{{}, messaging.Only(), messaging.Only("1", "2"), messaging.Only("2", "1"), messaging.Only("1")}
	for i, f := range filters {
		for j, other := range filters {
			assert.Equal(t, i == j, f.Equal(other), "%v %v", f, other)
		}
		assert.True(t, f.Equal(messaging.Only(f.Values()...)) == (f.Values() != nil))
	}
}

func TestAFilterIsAnArrayOrNullInJSON(t *testing.T) {
	for text, filter := range map[string]messaging.Filter{
		`null`: {}, `[]`: messaging.Only(), `["1"]`: messaging.Only("1"), `["2","<a>"]`: messaging.Only("2", "<a>")} {
		written, err := json.Marshal(filter)
		require.NoError(t, err)
		assert.JSONEq(t, text, string(written))
		read := messaging.Only("before")
		require.NoError(t, json.Unmarshal([]byte(text), &read))
		assert.True(t, filter.Equal(read), text)
	}
	var read messaging.Filter
	require.Error(t, json.Unmarshal([]byte(`"1"`), &read))
}

func TestAFilterThatIsReadChangesNoCopyOfIt(t *testing.T) {
	filter := messaging.Only("1", "2")
	read := filter
	require.NoError(t, json.Unmarshal([]byte(`["3"]`), &read))
	assert.Equal(t, []string{"3"}, read.Values())
	assert.Error(t, json.Unmarshal([]byte(`["4", 5]`), &read))
	assert.Equal(t, []string{"3"}, read.Values())
	assert.Equal(t, []string{"1", "2"}, filter.Values())
}
