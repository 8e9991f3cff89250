package alike

import (
	"regexp"
	"strconv"
	"strings"
)

var (
	grouped    = regexp.MustCompile(`^[0-9]{1,3}([.,'’\s\x{a0}\x{202f}][0-9]{3})+$`)
	scientific = regexp.MustCompile(`^[0-9]([.,][0-9]+)?[eE]\+?[0-9]{1,2}$`)
	fraction   = regexp.MustCompile(`[.,]0{1,2}$`) // three zeros are a group
	digits     = regexp.MustCompile(`^[0-9]+$`)
)

// plain returns a whole number without what a spreadsheet adds to it: 71,001, 71001.0 and
// 7.1001E+04 are 71001. Any other text stays as it is.
func plain(text string) string {
	number := strings.Trim(text, " \t\r\n'\"=")
	if number == "" || number[0] < '0' || number[0] > '9' {
		return text
	}
	if scientific.MatchString(number) {
		parsed, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", "."), 64)
		if err != nil {
			return text
		}
		number = strconv.FormatFloat(parsed, 'f', -1, 64)
	}
	number = fraction.ReplaceAllString(number, "")
	if grouped.MatchString(number) {
		number = strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, number)
	}
	if !digits.MatchString(number) {
		return text
	}
	return number
}
