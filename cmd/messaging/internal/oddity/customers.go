package oddity

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

// unsaid are words of people in place of an id that is not there.
var unsaid = []string{"none", "n/a", "n.a.", "na", "unknown"}

// totals are what stands in a row below the others.
var totals = []string{"total", "totals", "sum", "subtotal", "grand total", "count"}

// converted matches numbers and dates in the form of a spreadsheet, and its truth values.
var converted = newPattern(`^(\d+[.,]\d+|true|false|\d{1,2}[./]\d{1,2}[./]\d{2,4}|\d{4}-\d{2}-\d{2}([ t].*)?)$`)

const (
	isColumnName   = "is the name of a column"
	endsWithColumn = "ends with the name of its column, as where files were joined"
)

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
	case strings.HasPrefix(id, "="):
		return "looks like a formula"
	case isUnwritten(lower):
		return "looks like a placeholder"
	case slices.Contains(unsaid, lower), !strings.ContainsFunc(id, visible.LetterOrDigit), strings.Trim(id, "0-") == "":
		return "looks like a missing value"
	case converted.matches(lower), isRounded(lower), dated.matches(lower):
		return "looks like what a spreadsheet makes of an id"
	case isCommented(id):
		return "begins like a comment"
	case slices.Contains(totals, lower):
		return "looks like the last row of a table"
	case isColumn(id, "id", "customer", "customerid", "email", "name", "userid"):
		return isColumnName
	case strings.Contains(id, "://"):
		return "looks like a link"
	case strings.Contains(id, "@"):
		return "looks like an email address"
	case strings.HasPrefix(id, "+") && strings.TrimLeft(id, "+0123456789") == "":
		return "looks like a phone number"
	case strings.HasSuffix(lower, "customer_id"):
		return endsWithColumn
	case strings.ContainsAny(id, "|;"):
		return "looks like several ids"
	case hasVariable(id):
		return "looks like a placeholder"
	case strings.HasSuffix(lower, "n/a"):
		return "has a missing value"
	}
	if why := lacksPart(id); why != "" {
		return why
	}
	if last, _ := utf8.DecodeLastRuneInString(id); !visible.LetterOrDigit(last) {
		return "lacks its end"
	}
	return ""
}

// Segment returns why the id of a segment looks like a mistake, or "".
func Segment(id string) string {
	switch {
	case strings.EqualFold(id, "all"), strings.EqualFold(id, "everyone"):
		return "sounds like all customers"
	case IsFileName(id):
		return "is the name of a file"
	case id != "" && strings.Trim(id, "0") == "":
		return "looks like a missing value"
	case strings.Contains(strings.TrimSpace(id), " "):
		return "looks like several ids"
	}
	return ID(id)
}

// isUnfilled reports whether an address has what a template leaves of it, such as {{email}}@example.com.
func isUnfilled(address string) bool {
	return strings.ContainsAny(address, "{}$%*=`|<>[]") || strings.Contains(address, "__") || strings.HasPrefix(address, "'")
}

// joinsEnd reports whether a part of an address ends with what a program writes in place of a value, such as userNone.
func joinsEnd(part string) bool {
	for _, word := range []string{"undefined", "None", "NaN", "comnull", "orgnull", "netnull"} {
		if strings.HasSuffix(part, word) {
			return true
		}
	}
	return false
}

// namelessAddress matches the part of an address before the @ in which a value was to follow a word, or is None. A person can
// be called Null.
var namelessAddress = newPattern(`^(?i:user|customer|client|account|member|contact|id)[-_.]?(null|nil|nan)$|\b(None|undefined|NaN)\b`)

// Address returns why an address looks like a mistake, or "".
func Address(address string) string {
	local, domain, found := strings.Cut(address, "@")
	dot := strings.LastIndexByte(domain, '.')
	switch {
	case isCommented(address):
		return "begins like a comment"
	case strings.ContainsAny(address, ",;"):
		return "looks like several addresses"
	case found && (strings.Trim(local, "0") == "" || lacksAll(local) || strings.ContainsAny(local, `\/#(`) && Text(local) != ""):
		return "looks like a missing value"
	case isUnfilled(address):
		return "looks like a placeholder"
	case found && (joinsEnd(local) || joinsEnd(domain) || slices.ContainsFunc(strings.Split(domain, "."), isMissing) ||
		namelessAddress.matches(local)):
		return "has a missing value"
	case found && !strings.ContainsFunc(local, visible.LetterOrDigit):
		return "looks like a missing value"
	case found && strings.TrimRight(local, ".-_+") != local:
		return "lacks a part before the @"
	case strings.HasSuffix(domain[dot+1:], "email") && domain[dot+1:] != "email":
		return endsWithColumn
	case found && (dot < 1 || dot >= len(domain)-2 || strings.Contains(domain, "..")):
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
	case isRounded(strings.ToLower(strings.TrimPrefix(number, "+"))):
		return "looks like what a spreadsheet makes of it"
	case len(digits) < 5, strings.Trim(digits, "0") == "":
		return "is no phone number"
	}
	return ""
}

// capitalized matches a word that can be the name of a person, such as Null and Nan.
var capitalized = newPattern(`^\p{Lu}\p{Ll}+$`)

// coded matches what no person is called, such as c-1001.
var coded = newPattern(`^\S*\d{2,}\S*$`)

// Name returns why the name of a person looks like a mistake, or "".
func Name(name string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return ""
	case strings.Contains(name, "@"):
		return "looks like an email address"
	case strings.TrimLeft(name, "+0123456789- ") == "":
		return "looks like a number"
	case coded.matches(name):
		return "looks like an id"
	case !strings.ContainsFunc(name, visible.LetterOrDigit), isBlankMarkup(name):
		return "has no letters"
	case strings.HasPrefix(name, "="):
		return "looks like a formula"
	case isJSON(name):
		return "looks like an object of a program"
	case strings.EqualFold(name, "true"), strings.EqualFold(name, "false"):
		return "looks like what a spreadsheet makes of a value"
	case isColumn(name, "name", "firstname", "lastname", "customername"):
		return isColumnName
	case isUnwritten(strings.ToLower(name)):
		return "looks like a placeholder"
	case capitalized.matches(name) && name != "None" && !isObject(name):
		return ""
	case lacksAll(name):
		return "looks like a missing value"
	case hasMissingWord(name), joinsMissing(name):
		return "has a missing value"
	case hasVariable(name):
		return "looks like a placeholder"
	}
	return Text(name)
}
