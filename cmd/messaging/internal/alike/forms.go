package alike

import (
	"cmp"
	"regexp"
	"strings"
)

// forms are two ways to write a value, neither of which depends on how it was written. Of a text,
// the first one has a hyphen in place of what is between two digits and no zeros that change
// nothing, so that 05.01.2026 is the same as 5/1/2026, and 12.50 as 12.5. The second one has all
// of its digits alone, so that INV-2026-0001 is the same as INV20260001. They are equal for most
// values.
type forms struct{ first, second string }

// form returns the forms of a value that has one.
func form(text string) forms { return forms{text, text} }

// formsOf returns the forms of a text. What may be either thousands or a fraction of zeros, such as
// 71.000, is one in the first form and the other in the second.
func formsOf(text string) forms {
	text = midnight.ReplaceAllString(normal(text), "$1")
	first := plain(text)
	if strings.ContainsAny(text, ".,") {
		first = plain(numeral.ReplaceAllStringFunc(text, withoutZeros))
	}
	if groupOfZeros.MatchString(text) {
		return forms{Fold(first), Fold(text[:len(text)-len(".000")])}
	}
	return forms{Fold(first), fold(plain(text), "")}
}

// identifier returns the id of a customer however a spreadsheet writes it. Other customers have ids
// such as 1.1 and 1.10, or 1-23 and 12-3.
func identifier(id string) string {
	return Fold(plain(wholeAsFraction.ReplaceAllString(normal(id), "$1")))
}

// normal returns a text in lower case, with digits from 0 to 9.
func normal(text string) string { return strings.TrimSpace(strings.Map(digit, foldCase(text))) }

var (
	wholeAsFraction = regexp.MustCompile(`^([0-9]+)[.,]0{1,2}$`)

	numeral      = regexp.MustCompile(`[0-9]+([.,][0-9]+)+`)
	groupOfZeros = regexp.MustCompile(`^[0-9]{1,3}[.,]000$`)
	// clock matches a date, a time of day, and the seconds or milliseconds since 1970.
	clock = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?|` +
		`\b\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?\b|\b1[5-9]\d{8}(\d{3})?\b`)
	midnight = regexp.MustCompile(`^([0-9]{4}-[0-9]{2}-[0-9]{2})[ t]00:00:00(\.0+)?z?$`)
)

// withoutZeros returns a number without the zeros at the end of its fraction, and with none before
// it: 12.50 is 12.5, 71,001.00 is 71,001, and 0.5 is .5. Three digits after the only separator may
// be thousands, and several of the same separators are thousands, a version or a date.
func withoutZeros(number string) string {
	at := strings.LastIndexAny(number, ".,")
	whole, fraction := number[:at], number[at+1:]
	isGroup := len(fraction) == 3 && len(whole) <= 3
	if isGroup || strings.Contains(whole, number[at:at+1]) {
		return number
	}
	if strings.Trim(whole, "0") == "" {
		whole = ""
	}
	return cmp.Or(strings.TrimRight(whole+number[at:at+1]+strings.TrimRight(fraction, "0"), ".,"), "0")
}
