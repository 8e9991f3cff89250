package alike

import (
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

// number returns a number without what does not change it, with all of its digits.
func number(text string) string {
	const maxLength, maxExponent = 400, 1000 // of what is computed exactly
	if len(text) > maxLength || isWhole(text) {
		return text
	}
	if at := strings.IndexAny(text, "eE"); at >= 0 {
		if exponent, err := strconv.Atoi(text[at+1:]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return text
		}
	}
	exact, ok := new(big.Rat).SetString(text)
	if !ok {
		return text
	}
	return exact.RatString()
}

// digit returns the digit of any script as one from 0 to 9, and every other rune as it is.
func digit(r rune) rune {
	if r < 0x80 || !unicode.IsDigit(r) {
		return r
	}
	first := r
	for unicode.IsDigit(first - 1) {
		first--
	}
	return '0' + (r-first)%10 // the digits of a script are a run of ten
}

// plain returns a whole number without what a spreadsheet adds to it: 71,001 and 7.1001E+04 are
// 71001. Any other text stays as it is.
func plain(text string) string {
	number := strings.Trim(text, " \t\r\n'\"=")
	if number == "" || !isWhole(number[:1]) {
		return text
	}
	if isWhole(number) {
		return number
	}
	if scientific.MatchString(number) {
		parsed, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", "."), 64)
		if err != nil {
			return text
		}
		number = strconv.FormatFloat(parsed, 'f', -1, 64)
	}
	if grouped.MatchString(number) {
		number = strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, number)
	}
	if !isWhole(number) {
		return text
	}
	return number
}

var (
	grouped    = regexp.MustCompile(`^[0-9]{1,3}([.,'’\s][0-9]{3})+$`)
	scientific = regexp.MustCompile(`(?i)^[0-9]([.,][0-9]+)?e\+?[0-9]{1,2}$`)
)

// isWhole reports whether a text has digits alone.
func isWhole(text string) bool { return strings.Trim(text, "0123456789") == "" }
