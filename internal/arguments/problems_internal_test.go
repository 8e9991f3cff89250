package arguments

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValidationErrorsAreFiledByPath(t *testing.T) {
	var p Problems
	customers := p.In("recipients").Index(0).In("customers")
	customers.Index(0).Add("email", "is odd")
	customers.Index(12).Add("", "is empty")
	customers.Index(12).Add("", "is late")
	p.Add("subject", "is dull")
	customers.Index(12).Add("", "is back")
	p.In("payload").In("").In("a").Add("b", "is within a nameless one")

	var found []string
	for path, message := range p.All() {
		found = append(found, path+" "+message)
	}
	assert.Equal(t, []string{
		"recipients.0.customers.0.email is odd",
		"recipients.0.customers.12 is empty",
		"recipients.0.customers.12 is late",
		"subject is dull",
		"recipients.0.customers.12 is back",
		"payload..a.b is within a nameless one",
	}, found)
}
