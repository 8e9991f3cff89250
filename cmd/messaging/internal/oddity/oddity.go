// Package oddity says why a text looks like a mistake, although it can be sent.
package oddity

import (
	"iter"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// pattern is a regular expression that is compiled when it is needed, since most commands do not.
type pattern func() *regexp.Regexp

func newPattern(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

func (p pattern) matches(text string) bool { return p().MatchString(text) }

// missing matches what programs write in place of a value that is not there, such as #N/A, <NA>, (null) and \N.
var missing = newPattern(`^([(<\[]?(null|nil|nan|nat|undefined)[)>\]]?|[(<\[](none|blank|empty|na)[)>\]]|` +
	`n\.a\.|\\0|[bu](''|"")|b'\\n'|bytearray\(b''\)|#(n/a|n/d|nv|n\.v\.)|\\n|\[object object\])$`)

// lost matches what a conversion makes of letters that it does not know, such as Ã¼ of ü.
var lost = newPattern(`\x{FFFD}|[ÃÂ][\x{80}-\x{BF}]|^\?+$`)

// failed matches the errors of a spreadsheet, such as #REF!, #NAME?, #### and Err:502.
var failed = newPattern(`^(#[^\d]*[!?]|#div/0!|#DIV/0!|#{2,}|err:\d+)$`)

// placeholder matches what a template, a shell or a format would have replaced: {{name}}, {name},
// ${NAME}, $(command), $NAME, $1, %NAME%, %s, %(name)s, %!s(MISSING), *|NAME|*, <% name %>, <first_name>,
// __NAME__ and [First Name].
var placeholder = newPattern(`\{\{|\$[{(]|\{[A-Za-z_][\w.]*\}|\*\||<%|%!?\(|%![sdv]\(|(^|[\s"'(>])%[sdqv]\b|` +
	`<[A-Za-z]+_\w+>|<(?i:name)>|\[[A-Z]+_[A-Z_]+\]|\[NAME\]|^[\[<][A-Za-z_ ]+[\]>]$|__[A-Z]+__|%%\w+%%|^\$\w+$|^%[A-Za-z_]+%$|^` + "`.+`$")

// commented matches what people write in front of a row that they do not want.
var commented = newPattern(`^(#|//|--)\D`)

// isCommented reports whether a text begins like a comment.
func isCommented(text string) bool {
	return text != "" && strings.IndexByte("#/-", text[0]) >= 0 && commented.matches(text)
}

// programError matches the first line of what a program or a server says when it fails.
var programError = newPattern(`^(Traceback \(most recent call last\)|curl: \(\d+\)|jq: error|` +
	`(Error:? )?[45]\d\d (Bad|Unauthorized|Forbidden|Not|page not|Internal|Service|Gateway)\b|` +
	`(ba|da|a|k|z)?sh: [^\n]{0,80}\bnot found\b|\w+(Error|Exception): |` +
	`[^\n]{0,80}: (No such file or directory|command not found|Permission denied|Connection refused)$)|` +
	`^(?i)([\w.-]+: )?(fatal |internal )?error( \d+ \(\w+\))?:|` +
	`^(?i)(access denied|internal server error|bad gateway|service unavailable|gateway time-?out|not found|forbidden|unauthorized)[.!]?$|` +
	`(?i)^<\?xml\b|<title>\s*([45]\d\d|log ?in|sign ?in|error)\b|<title>[^<]*(not found|access denied|forbidden)`)

// longestWord is the longest text in bytes that stands for a missing value or an error.
const longestWord = 16

// Text returns why a text in place of a value looks like a mistake, or "".
func Text(text string) string {
	text = strings.TrimSpace(text)
	if strings.ContainsFunc(text, visible.Hidden) {
		text = strings.TrimFunc(strings.Map(shown, text), visible.Blank)
	}
	short := "" // a million rows are looked at, and few texts are as short as these patterns
	if len(text) <= longestWord {
		short = strings.ToLower(text)
	}
	switch {
	case short != "" && missing.matches(short), text == "None", text == "NONE", text == "NA", short == "n/a", isNilID(text):
		return "looks like a missing value"
	case strings.HasPrefix(text, "#") && failed.matches(text), strings.HasPrefix(short, "err:") && failed.matches(short):
		return "looks like an error of a spreadsheet"
	case isMessage(text) && programError.matches(text):
		return "looks like the error of a program"
	case !hasSigns(text):
		return ""
	case placeholder.matches(text):
		return "looks like a placeholder"
	case lost.matches(text):
		return "has characters that were lost"
	}
	return ""
}

// isNilID reports whether a text is an id of zeros, as programs write it for none.
func isNilID(text string) bool {
	const shortest = 24
	return len(text) >= shortest && strings.Trim(text, "0-") == ""
}

// shown drops a character that a reader cannot see.
func shown(r rune) rune {
	if visible.Hidden(r) {
		return -1
	}
	return r
}

// isMessage reports whether a text may be what a program says, and not only a code.
func isMessage(text string) bool {
	return strings.Contains(text, ": ") || strings.HasPrefix(text, "<") || !strings.ContainsAny(text, "0123456789")
}

// hasSigns reports whether a text may have a placeholder, or a character that was lost.
func hasSigns(text string) bool {
	for _, b := range []byte(text) {
		if b >= utf8.RuneSelf || strings.IndexByte("{$*<%?[`_", b) >= 0 {
			return true
		}
	}
	return false
}

// lacksPart returns why a code, such as an id or an order number, looks as if a part of it were missing, or "".
func lacksPart(code string) string {
	for part := range parts(code) {
		if isMissing(part) {
			return "has a missing value"
		}
	}
	if strings.TrimRight(code, "-:_=") != code {
		return "lacks its end"
	}
	return ""
}

// lacksAll reports whether a text has only missing values, such as null.null.
func lacksAll(text string) bool {
	found := false
	for part := range parts(text) {
		if found = true; !isMissing(part) {
			return false
		}
	}
	return found
}

// parts ranges over the letters and digits between other characters.
func parts(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return !visible.LetterOrDigit(r) })
}

// isMissing reports whether a word is what a program writes in place of a value.
func isMissing(word string) bool {
	switch word {
	case "null", "Null", "NULL", "undefined", "NaN", "nan", "nil", "None":
		return true
	}
	return false
}

// isColumn reports whether a text is the name of a column, however it is written.
func isColumn(text string, columns ...string) bool {
	squeezed := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return unicode.ToLower(r)
	}, text)
	return slices.Contains(columns, squeezed)
}

// longest is how many characters of a text are quoted.
const longest = 60

// Quote quotes a text, cut if it is long.
func Quote(text string) string { return visible.Quote(words.Shortened(text, longest)) }
