// Package words writes numbers, times and lists as people read them.
package words

import (
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/messaging-go/messaging"
)

// Count writes a number with its noun: "1 customer", "2,000 customers", "2 entries".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		noun = stem + "ie"
	}
	return Thousands(n) + " " + noun + "s"
}

// Thousands writes a number with a comma between groups of three digits.
func Thousands(n int) string { return humanize.Comma(int64(n)) }

// Delivery writes a delivery as programs read it: "not_sent".
func Delivery(d messaging.Delivery) string {
	word, _ := d.MarshalText() // never fails
	return string(word)
}

// List writes a list such as "customers, events or messages".
func List(names []string, conjunction string) string {
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + conjunction + " " + names[last]
}

// Time writes a time in the time zone of this machine, or a dash for the zero time.
func Time(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return Date(t) + " " + Clock(t)
}

// Date writes the date of a time.
func Date(t time.Time) string { return t.Local().Format(time.DateOnly) }

// Recent writes a time without its date if that is today.
func Recent(t time.Time) string {
	if Date(t) == Date(time.Now()) {
		return Clock(t)
	}
	return Time(t)
}

// Clock writes the time of day.
func Clock(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// Shortened cuts a text after some characters.
func Shortened(text string, limit int) string {
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit]) + "…"
	}
	return text
}

// maxDistance is how many letters a misspelled word may differ in.
const maxDistance = 2

// Nearest returns the name that a misspelled word probably means, or "".
func Nearest(word string, names []string) string {
	best, least := "", maxDistance+1
	for _, name := range names {
		away := distance(strings.ToLower(word), strings.ToLower(name))
		if away < least && 2*away <= len(word) {
			best, least = name, away
		}
	}
	return best
}

// distance returns how many letters have to be added, removed or replaced to turn a into b.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i, letter := range from {
		diagonal := row[0]
		row[0] = i + 1
		for j, other := range to {
			replaced := diagonal
			if letter != other {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(to)]
}
