package words

import "strings"

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
