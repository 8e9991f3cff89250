package cli

import "strings"

// quoted joins the words of a command for a POSIX shell.
func quoted(words []string) string {
	for i, word := range words {
		words[i] = quoteIfNeeded(word)
	}
	return strings.Join(words, " ")
}

// quoteIfNeeded quotes an argument for a POSIX shell.
func quoteIfNeeded(argument string) string {
	if strings.ContainsFunc(argument, func(r rune) bool {
		return !strings.ContainsRune("-_.:/=@,+", r) && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return "'" + strings.ReplaceAll(argument, "'", `'\''`) + "'"
	}
	return argument
}
