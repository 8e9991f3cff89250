package arguments

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestValidationOfAnEmailAddress(t *testing.T) {
	tests := []struct {
		name    string
		address string
		passes  bool
	}{
		{"a plain address", "jane@example.com", true},
		{"a host without a dot", "jane@localhost", true},
		{"a tag", "jane+news@example.com", true},
		{"letters of any language", "яна@пример.рф", true},
		{"no @", "jane.example.com", false},
		{"nothing before the @", "@example.com", false},
		{"nothing after the @", "jane@", false},
		{"nothing but an @", "@", false},
		{"two @", "jane@doe@example.com", false},
		{"two @ in a row", "jane@@example.com", false},
		{"a blank before it", " jane@example.com", false},
		{"a blank within it", "jane doe@example.com", false},
		{"a blank that does not break", "jane\u00a0doe@example.com", false},
		{"a line break after it", "jane@example.com\n", false},
		{"a second header smuggled in", "jane@example.com\r\nBcc:all@example.com", false},
		{"a NUL", "jane\x00@example.com", false},
		{"a DEL", "jane\x7f@example.com", false},
		{"an empty text", "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			assert.Equal(t, test.passes, IsEmail(test.address))
		})
	}
}

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
