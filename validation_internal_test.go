package messaging

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
			assert.Equal(t, test.passes, looksLikeEmail(test.address))
		})
	}
}

func TestValidationErrorsAreFiledByPath(t *testing.T) {
	var p problems
	customers := p.in("recipients").index(0).in("customers")
	customers.index(0).add("email", "is odd")
	customers.index(12).add("", "is empty")
	customers.index(12).add("", "is late")
	p.add("subject", "is dull")
	customers.index(12).add("", "is back")
	p.in("payload").in("").in("a").add("b", "is within a nameless one")

	assert.Equal(t, &ValidationError{Op: "test", Fields: []FieldError{
		{"recipients.0.customers.0.email", []string{"is odd"}},
		{"recipients.0.customers.12", []string{"is empty", "is late"}},
		{"subject", []string{"is dull"}},
		{"recipients.0.customers.12", []string{"is back"}},
		{"payload..a.b", []string{"is within a nameless one"}},
	}}, p.err("test"))
}
