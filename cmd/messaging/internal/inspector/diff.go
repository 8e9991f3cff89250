package inspector

import "slices"

// diffLine is a line of a comparison: added ("+"), removed ("-") or in both.
type diffLine struct{ Sign, Text string }

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
			lines = append(lines, diffLine{" ", before[i]})
			i, j = i+1, j+1
		case j == len(after) || i < len(before) && common[i+1][j] >= common[i][j+1]:
			lines = append(lines, diffLine{"-", before[i]})
			i++
		default:
			lines = append(lines, diffLine{"+", after[j]})
			j++
		}
	}
	return lines, true
}
