package history

import "slices"

// Note is what a rule finds in an entry.
type Note struct {
	Code string `json:"code"` // of the rule
	Text string `json:"text"`
}

// Codes are the codes of the rules, for searches.
var Codes = []string{"foreign_key", "key_header", "skipped", "duplicate", "name_as_id", "wrong_path", "sdk_refuses", "unknown_parameter",
	"wrong_type", "empty_value", "no_variable", "email_check"}

// Notes returns what is worth a look in an entry. It is found out once, when somebody asks.
func (e *Entry) Notes() []Note { return e.notes() }

func (e *Entry) has(code string) bool {
	return slices.ContainsFunc(e.Notes(), func(n Note) bool { return n.Code == code })
}
