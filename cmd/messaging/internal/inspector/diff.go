package inspector

import "slices"

// diffLine is a line of a comparison: added ("+"), removed ("-") or in both.
type diffLine struct {
	Sign, Text string
	// Changed is what differs in a line that has changed, and Before and After are the rest.
	Before, Changed, After string
}

// diffPart is a part of a comparison. The lines of a folded one are in both texts.
type diffPart struct {
	Folded bool
	Lines  []diffLine
}

// maxDiff is the largest number of lines of a text that is compared.
const maxDiff = 1500

// diff compares two texts by lines. It reports false if they are too long.
func diff(before, after []string) (lines []diffLine, ok bool) {
	if len(before) > maxDiff || len(after) > maxDiff {
		return nil, false
	}
	// common[i][j] is the length of the longest common subsequence of
	// before[i:] and after[j:].
	common := make([][]int32, len(before)+1)
	for i := range common {
		common[i] = make([]int32, len(after)+1)
	}
	for i := range slices.Backward(before) {
		for j := range slices.Backward(after) {
			if before[i] == after[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	i, j := 0, 0
	for i < len(before) || j < len(after) {
		switch {
		case i < len(before) && j < len(after) && before[i] == after[j]:
			lines = append(lines, diffLine{Sign: " ", Text: before[i]})
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, diffLine{Sign: "-", Text: before[i]})
			i++
		default:
			lines = append(lines, diffLine{Sign: "+", Text: after[j]})
			j++
		}
	}
	markChanges(lines)
	return lines, true
}

// markChanges marks what differs between removed lines and the added ones in their place.
func markChanges(lines []diffLine) {
	for i := 0; i < len(lines); {
		removed := run(lines[i:], "-")
		added := run(lines[i+removed:], "+")
		marked := 0
		for k := range min(removed, added) {
			if markChange(&lines[i+k], &lines[i+removed+k]) {
				marked++
			}
		}
		if marked == min(removed, added) {
			pair(lines[i:i+removed+added], removed)
		}
		i += max(removed+added, 1)
	}
}

// run returns the number of lines at the beginning with a sign.
func run(lines []diffLine, sign string) int {
	n := slices.IndexFunc(lines, func(l diffLine) bool { return l.Sign != sign })
	if n < 0 {
		return len(lines)
	}
	return n
}

// pair puts each added line below the one that it replaces, of lines of which the first are removed and the others added.
func pair(lines []diffLine, removed int) {
	before, after := slices.Clone(lines[:removed]), slices.Clone(lines[removed:])
	pairs := min(len(before), len(after))
	for k := range pairs {
		lines[2*k], lines[2*k+1] = before[k], after[k]
	}
	copy(lines[2*pairs:], slices.Concat(before[pairs:], after[pairs:]))
}

// markChange marks what differs between two lines, if they have more than half in common, and reports whether they do.
func markChange(before, after *diffLine) bool {
	a, b := []rune(before.Text), []rune(after.Text)
	shorter := min(len(a), len(b))
	head, tail := 0, 0
	for head < shorter && a[head] == b[head] {
		head++
	}
	for tail < shorter-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	if 2*(head+tail) < max(len(a), len(b)) {
		return false
	}
	for line, text := range map[*diffLine][]rune{before: a, after: b} {
		line.Before, line.Changed, line.After = string(text[:head]), string(text[head:len(text)-tail]), string(text[len(text)-tail:])
	}
	return true
}

const (
	around  = 3 // lines around a difference are not folded
	minFold = 4 // fewer lines are not worth folding
)

// fold folds the lines that are far from any difference.
func fold(lines []diffLine) (parts []diffPart) {
	add := func(folded bool, lines []diffLine) {
		if len(lines) > 0 {
			parts = append(parts, diffPart{folded, lines})
		}
	}
	for first := true; len(lines) > 0; first = false {
		same := run(lines, " ")
		head, tail := around, around
		if first {
			head = 0
		}
		if same == len(lines) {
			tail = 0
		}
		if same-head-tail < minFold {
			head, tail = same, 0
		}
		changed := slices.IndexFunc(lines[same:], func(l diffLine) bool { return l.Sign == " " })
		if changed < 0 {
			changed = len(lines) - same
		}
		add(false, lines[:head])
		add(true, lines[head:same-tail])
		add(false, lines[same-tail:same+changed])
		lines = lines[same+changed:]
	}
	return parts
}
