package history

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/fake"
)

func TestAValueIsFoundByTheEndOfItsPath(t *testing.T) {
	e := &Entry{Exchange: &fake.Exchange{Request: fake.Request{Body: []byte(
		`{"recipients":[{"customers":[{"email":"ada@example.com"},{"email":"grace@example.com","vip":true}]}],` +
			`"parcels":12345678901234567890}`)}}}
	for text, want := range map[string]bool{
		"value:email=GRACE": true, "value:customers.email=ada@": true, "value:recipients.customers.email=ada": true,
		"value:recipients.email=ada": false, "value:vip=true": true, "value:parcels=12345678901234567890": true,
		"value:parcels==12345678901234567890": true, "value:parcels==1234567890123456789": false, "value:email==GRACE": false,
		"value:email==Grace@example.com": true, "value:mail=ada": false,
	} {
		query, err := Parse(text)
		require.NoError(t, err)
		assert.Equal(t, want, query.Match(e), text)
	}
	for _, text := range []string{"value:", "value:order", "value:=x"} {
		_, err := Parse(text)
		assert.ErrorContains(t, err, "must be the name of a value of the body, =, and a part of the value", text)
	}
	e.Request.Body = []byte(`{"email":"ada"`)
	query, err := Parse("value:email=ada")
	require.NoError(t, err)
	assert.False(t, query.Match(e), "it is not JSON")
}
