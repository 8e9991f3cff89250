package history

// Note is what a rule finds in an entry.
type Note struct {
	Code string `json:"code"` // of the rule
	Text string `json:"text"`
}

// Codes are the codes of the rules, for searches.
var Codes = []string{"foreign_key", "key_header", "skipped", "duplicate", "name_as_id", "wrong_path", "sdk_refuses", "unknown_parameter",
	"wrong_type", "empty_value", "no_variable", "email_check"}
