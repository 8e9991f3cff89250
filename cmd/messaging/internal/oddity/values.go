package oddity

import (
	"html"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

const months = `(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)`

// rounded and dated match what a spreadsheet makes of a long number and of a short code.
var (
	rounded = newPattern(`^\d+([.,]\d+)?e\+?\d+$`)
	dated   = newPattern(`^(\d{1,2}-)?` + months + `(-\d{1,4})?$`)
)

// isUnwritten reports whether a text in lower case is what people write where a value comes later.
func isUnwritten(text string) bool {
	switch text {
	case "todo", "fixme", "tbd", "changeme", "change_me", "replaceme", "replace_me", "lorem ipsum":
		return true
	}
	return len(text) > 2 && strings.Trim(text, "x") == ""
}

// isRounded reports whether a text in lower case looks like a rounded number. A million rows are looked at, and few
// begin with a digit.
func isRounded(text string) bool {
	return text != "" && text[0] >= '0' && text[0] <= '9' && rounded.matches(text)
}

// hasVariable reports whether a text has a variable that a shell has not replaced.
func hasVariable(text string) bool { return strings.Contains(text, "$") && variable.matches(text) }

// oddValue returns why a text that an event requires looks like a mistake, or "".
func oddValue(text string) string {
	lower := strings.ToLower(strings.TrimSpace(text))
	switch why := Text(text); {
	case why != "":
		return why
	case isRounded(lower), strings.Contains(lower, "-") && dated.matches(lower), strings.HasPrefix(text, "'"):
		return "looks like what a spreadsheet makes of it"
	case hasVariable(text):
		return "looks like a placeholder"
	case strings.HasPrefix(text, "="):
		return "looks like a formula"
	case isJSON(text), strings.HasPrefix(lower, "<html"), strings.HasPrefix(lower, "<!doctype"):
		return "looks like the error of a program"
	case strings.HasPrefix(text, "@") && IsFileName(text):
		return "is the name of a file"
	case lacksAll(text):
		return "has a missing value"
	case len(text) > 1 && text[0] == '"' && strings.HasSuffix(text, `"`):
		return "is in quotation marks"
	case !strings.ContainsFunc(text, visible.LetterOrDigit), isBlankMarkup(text):
		return "looks like a missing value"
	case text == "text":
		return "looks like an example"
	case isUnwritten(lower):
		return "looks like a placeholder"
	case isColumn(text, "customerid", "email", "firstname", "lastname"):
		return isColumnName
	case isStream(text):
		return "is the name of a file"
	case isZeroTime(text):
		return "looks like a missing time"
	case hasMissingWord(text):
		return "has a missing value"
	case strings.ContainsAny(text, ",!") && nameless.matches(text):
		return "lacks a name or a value"
	case !strings.Contains(text, " "):
		return lacksPart(text)
	}
	return ""
}

// isBlankMarkup reports whether a text has markup alone, such as &nbsp; or <p></p>.
func isBlankMarkup(text string) bool {
	return strings.ContainsAny(text, "&<") && visible.IsBlank(html.UnescapeString(tag().ReplaceAllString(text, "")))
}

// Label returns why a text that is no prose looks like a mistake, such as the name of a sender or the id of a
// template, or "".
func Label(text string) string {
	switch why := Text(text); {
	case why != "" || text == "":
		return why
	case isBlankMarkup(text), lacksAll(text), strings.EqualFold(text, "false"), strings.EqualFold(text, "true"):
		return "looks like a missing value"
	case hasMissingWord(text), joinsMissing(text):
		return "has a missing value"
	case !strings.ContainsFunc(text, func(r rune) bool { return visible.LetterOrDigit(r) || unicode.IsSymbol(r) && !visible.Blank(r) }):
		return "looks like a missing value"
	case isJSON(text):
		return "looks like an object of a program"
	case hasVariable(text):
		return "looks like a placeholder"
	}
	return ""
}

// oddTime returns why a time looks like a mistake, or "": programs write the years 1 and 9999, the first days of 1900
// and 1970, and the beginnings and ends of other calendars, in place of a time that is not there.
func oddTime(at time.Time) string {
	switch at = at.UTC(); {
	case at.Year() < 1900, at.Year() >= 2100, slices.Contains(zeroDays, at.Format(time.DateOnly)),
		slices.Contains(zeroInstants, at.Format(time.RFC3339)):
		return "looks like a missing time"
	}
	return ""
}

var (
	zeroDays     = []string{"1900-01-01", "1904-01-01", "1969-12-31", "1970-01-01"}
	zeroInstants = []string{"2000-01-01T00:00:00Z", "2001-01-01T00:00:00Z", "2038-01-19T03:14:07Z"}
)

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
		case p.Required && strings.EqualFold(text, p.Name):
			why = "is the name of its column"
		case p.Required && len(text) > len(p.Name) && text[len(p.Name)] == '_' && strings.EqualFold(text[:len(p.Name)], p.Name) &&
			!strings.ContainsAny(text, "0123456789"): // such as ORDER_ID
			why = "looks like a placeholder"
		case p.Required:
			why = oddValue(text)
		}
		if why != "" {
			return p.Name + " " + Quote(text) + " " + why
		}
	}
	return ""
}
