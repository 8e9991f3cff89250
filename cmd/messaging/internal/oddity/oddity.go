// Package oddity says why a text looks like a mistake, although it can be sent.
package oddity

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// pattern is a regular expression that is compiled when it is needed, since most commands do not.
type pattern func() *regexp.Regexp

func newPattern(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

func (p pattern) matches(text string) bool { return p().MatchString(text) }

// missing matches what programs write in place of a value that is not there, such as #N/A, <NA>, (null) and \N.
var missing = newPattern(`^([(<\[]?(null|nil|nan|nat|undefined)[)>\]]?|<na>|#(n/a|n/d|nv|n\.v\.)|\\n|\[object object\])$`)

// lost matches what a conversion makes of letters that it does not know, such as Ã¼ of ü.
var lost = newPattern(`\x{FFFD}|[ÃÂ][\x{80}-\x{BF}]|^\?+$`)

// failed matches the errors of a spreadsheet, such as #REF!, #NAME?, #### and Err:502.
var failed = newPattern(`^(#[^\d]*[!?]|#{2,}|err:\d+)$`)

// placeholder matches what a template or a shell would have replaced.
var placeholder = newPattern(`\{\{|\$\{|\*\||<%|^\$[A-Za-z_][A-Za-z0-9_]*$|^%[A-Za-z_]+%$`)

// commented matches what people write in front of a row that they do not want.
var commented = newPattern(`^(#|//|--)\D`)

// longestWord is the longest text in bytes that stands for a missing value or an error.
const longestWord = 16

// Text returns why a text in place of a value looks like a mistake, or "".
func Text(text string) string {
	text = strings.TrimSpace(text)
	short := "" // a million rows are looked at, and few texts are as short as these patterns
	if len(text) <= longestWord {
		short = strings.ToLower(text)
	}
	switch {
	case short != "" && missing.matches(short), text == "None", short == "n/a":
		return "looks like a missing value"
	case strings.HasPrefix(text, "#") && failed.matches(text), strings.HasPrefix(short, "err:") && failed.matches(short):
		return "looks like an error of a spreadsheet"
	case !hasSigns(text):
		return ""
	case placeholder.matches(text):
		return "looks like a placeholder"
	case lost.matches(text):
		return "has characters that were lost"
	}
	return ""
}

// hasSigns reports whether a text may have a placeholder, or a character that was lost.
func hasSigns(text string) bool {
	for _, b := range []byte(text) {
		if b >= utf8.RuneSelf || b == '{' || b == '$' || b == '*' || b == '<' || b == '%' || b == '?' {
			return true
		}
	}
	return false
}

const months = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`

// rounded and dated match what a spreadsheet makes of a long number and of a short code.
var (
	rounded = newPattern(`^\d+([.,]\d+)?e\+?\d+$`)
	dated   = newPattern(`^(\d{1,2}-)?` + months + `(-\d{1,4})?$`)
)

// oddValue returns why a text that an event requires looks like a mistake, or "".
func oddValue(text string) string {
	lower := strings.ToLower(strings.TrimSpace(text))
	switch why := Text(text); {
	case why != "":
		return why
	case rounded.matches(lower), strings.Contains(lower, "-") && dated.matches(lower), strings.HasPrefix(text, "'"):
		return "looks like what a spreadsheet makes of it"
	case strings.HasPrefix(text, "="):
		return "looks like a formula"
	}
	return ""
}

// oddTime returns why a time looks like a mistake, or "": programs write the years 1 and 9999, and the first
// days of 1900 and 1970, in place of a time that is not there.
func oddTime(at time.Time) string {
	switch day := at.UTC().Format(time.DateOnly); {
	case at.Year() < 1900, at.Year() >= 2100, day == "1900-01-01", day == "1969-12-31", day == "1970-01-01":
		return "looks like a missing time"
	}
	return ""
}

// Values returns what looks like a mistake in the times, and in the texts that an event requires, or "".
func Values(event *messaging.Event, values map[string]any) string {
	for _, p := range event.Parameters {
		text, _ := values[p.Name].(string)
		at, isTime := values[p.Name].(time.Time)
		if p.Type == messaging.ParameterTimestamp && !isTime {
			parsed, err := time.Parse(time.RFC3339, text)
			at, isTime = parsed, err == nil
		}
		why := ""
		switch {
		case isTime:
			text, why = at.Format(time.RFC3339), oddTime(at)
		case text == "":
		case p.Required && text == p.Name:
			why = "is the name of its column"
		case p.Required:
			why = oddValue(text)
		}
		if why != "" {
			return p.Name + " " + Quote(text) + " " + why
		}
	}
	return ""
}

// unsaid are words of people in place of an id that is not there.
var unsaid = []string{"none", "n/a", "n.a.", "na", "unknown"}

// totals are what stands in a row below the others.
var totals = []string{"total", "totals", "sum", "subtotal", "grand total", "count"}

// converted matches numbers and dates in the form of a spreadsheet, and its truth values.
var converted = newPattern(`^(\d+[.,]0+|true|false|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}-\d{2}-\d{2}( .*)?)$`)

// ID returns why the id of a customer looks like a mistake, or "".
func ID(id string) string {
	if id == "" {
		return ""
	}
	lower := strings.ToLower(strings.TrimSpace(id))
	if why := Text(id); why != "" {
		return why
	}
	switch {
	case slices.Contains(unsaid, lower), !strings.ContainsFunc(id, isLetterOrDigit):
		return "looks like a missing value"
	case converted.matches(lower), rounded.matches(lower), dated.matches(lower):
		return "looks like what a spreadsheet makes of an id"
	case commented.matches(id):
		return "begins like a comment"
	case slices.Contains(totals, lower):
		return "looks like the last row of a table"
	case strings.Contains(id, "@"):
		return "looks like an email address"
	case strings.HasSuffix(lower, "customer_id"):
		return "ends with the name of its column, as where files were joined"
	}
	return ""
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// Address returns why an address looks like a mistake, or "": its domain cannot be one.
func Address(address string) string {
	_, domain, found := strings.Cut(address, "@")
	dot := strings.LastIndexByte(domain, '.')
	if commented.matches(address) {
		return "begins like a comment"
	}
	if strings.HasSuffix(domain[dot+1:], "email") && domain[dot+1:] != "email" {
		return "ends with the name of its column, as where files were joined"
	}
	if found && (dot < 1 || dot >= len(domain)-2 || strings.Contains(domain, "..")) {
		return "looks cut off or misspelled"
	}
	return ""
}

// Phone returns why a phone number looks like a mistake, or "".
func Phone(number string) string {
	digits := strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, number)
	switch {
	case number == "":
		return ""
	case rounded.matches(strings.ToLower(strings.TrimPrefix(number, "+"))):
		return "looks like what a spreadsheet makes of it"
	case len(digits) < 5, strings.Trim(digits, "0") == "":
		return "is no phone number"
	}
	return ""
}

// capitalized matches a word that can be the name of a person, such as Null and Nan.
var capitalized = newPattern(`^\p{Lu}\p{Ll}+$`)

// Name returns why the name of a person looks like a mistake, or "".
func Name(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return ""
	case strings.Contains(name, "@"):
		return "looks like an email address"
	case strings.TrimLeft(name, "+0123456789- ") == "":
		return "looks like a number"
	case strings.HasPrefix(name, "="):
		return "looks like a formula"
	case strings.EqualFold(name, "true"), strings.EqualFold(name, "false"):
		return "looks like what a spreadsheet makes of a value"
	case capitalized.matches(name) && name != "None":
		return ""
	}
	return Text(name)
}

// longest is how many characters of a text are quoted.
const longest = 60

// Quote quotes a text, cut if it is long.
func Quote(text string) string { return visible.Quote(words.Shortened(text, longest)) }
