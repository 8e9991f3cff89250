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

// newPattern is not inlined: a copy of its code for each of the many patterns would add to the size of the command.
//
//go:noinline
func newPattern(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

func (p pattern) matches(text string) bool { return p().MatchString(text) }

// missing matches what programs write in place of a value that is not there, such as #N/A, <NA>, (null) and \N.
var missing = newPattern(`^([(<\[]?(null|nil|nan|nat|undefined)[)>\]]?|` +
	`[(<\[](none|blank|empty|na|missing|unknown|(not |un)set|no value)[)>\]]|` +
	`n\.a\.|\\0|(pd|pandas|np|numpy)\.(na|nan|nat)|(character|numeric|logical|integer)\(0\)|\*?undef\*?|na[-/ ]na|` +
	`[bu](''|"")|b'\\n'|bytearray\(b''\)|#(na|n/a|n/a n/a|n/d|nv|n\.v\.)|(\\+n)+|\[object object\]|` +
	`[+-]?inf(inity)?|invalid (date(time)?|time value)|null;|nul|loading(\.\.\.|…)|(null|undefined|nil|nan|none){2,}|-?1\.#(qnan|ind|inf))$`)

// lost matches what a conversion makes of letters that it does not know, such as Ã¼ of ü.
var lost = newPattern(`\x{FFFD}|[ÃÂ][\x{80}-\x{BF}]|^\?+$`)

// failed matches the errors of a spreadsheet, such as #REF!, #NAME?, #### and Err:502.
var failed = newPattern(`^(#[^\d]*[!?]|#div/0!|#GETTING_DATA|#{2,}|err:\d+)$|` +
	`#(N/A|REF!|VALUE!|NAME\?|DIV/0!)|^#(DIV/0|NAME|VALUE|REF|NUM|NULL|WERT|BEZUG|ZAHL)$`)

// placeholder matches what a template, a shell or a format would have replaced: {{name}}, {name},
// ${NAME}, $(command), $NAME, $1, %NAME%, %s, %(name)s, %!s(MISSING), *|NAME|*, <% name %>, <first_name>,
// __NAME__, ##NAME##, [First Name] and YOUR_NAME_HERE.
var placeholder = newPattern(`\{\{|\$[{(]|\{[A-Za-z_][\w.]*\}|\*\||<%|%!?\(|%![sdv]\(|(^|[\s"'(>])%[sdqv]\b|` +
	`<[A-Za-z]+_\w+>|<(?i:name)>|\[[A-Z]+_[A-Z_]+\]|\[NAME\]|^[\[<][A-Za-z_ ]+[\]>]$|__[A-Z]+__|%%\w+%%|^\$\w+$|^%[A-Za-z_]+%$|^%[A-Za-z]$|` +
	`\{\d\}|\{\$\w+\}|\[\[\w+\]\]|^\$?\.[A-Za-z_]\w*$|\{%|^%~?\d$|^\[%|^<<\w+>>$|^\$\[|-%[sd]$|` +
	`^#\{\w+\}$|^!\w+!$|^@@\w+@@$|^«\w+»$|^\$Env:\w+$|^:[a-z_]+$|^` + "`.+`$|" +
	`##[A-Z_]+##|@Model\.\w|\B%[A-Z_]{3,}%\B|\b(YOUR|INSERT)_[A-Z_]+\b|` +
	`\[(?i:insert|your|first|last|full|customer|company|recipient)( [A-Za-z ]+)?\]`)

// commented matches what people write in front of a row that they do not want.
var commented = newPattern(`^(#|//|--)\D`)

// isCommented reports whether a text begins like a comment.
func isCommented(text string) bool {
	return text != "" && strings.IndexByte("#/-", text[0]) >= 0 && commented.matches(text)
}

// longestWord is the longest text in bytes that stands for a missing value or an error.
const longestWord = len("undefinedundefined")

// Text returns why a text in place of a value looks like a mistake, or "".
func Text(text string) string {
	text = strings.TrimSpace(text)
	if strings.Contains(text, "\x1b[") {
		return "has the colors of a terminal"
	}
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
	case strings.Contains(text, "#") && failed.matches(text), strings.HasPrefix(short, "err:") && failed.matches(short):
		return "looks like an error of a spreadsheet"
	case isNoRows(text):
		return "looks like a missing value"
	case isProgramError(text):
		return "looks like the error of a program"
	case isObject(text):
		return "looks like an object of a program"
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

// hasSigns reports whether a text may have a placeholder, or a character that was lost.
func hasSigns(text string) bool {
	for _, b := range []byte(text) {
		if b >= utf8.RuneSelf || strings.IndexByte("{$*<%?[`_!:@.#", b) >= 0 {
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
	switch {
	case strings.TrimRight(code, "-:_=") != code:
		return "lacks its end"
	case joinsMissing(code), strings.Contains(code, "--"):
		return "has a missing value"
	case strings.HasSuffix(code, "000") && zeroCode.matches(code):
		return "has only zeros, as if its number were missing"
	}
	return ""
}

// zeroCode matches a code with a number that was none, as printf gives it.
var zeroCode = newPattern(`^(0{5,}|[A-Za-z]+[-_/#]?0{3,})$`)

// joinsMissing reports whether a text is a code with a missing value at its end or in front of its number, such as
// INVnull and null1.
func joinsMissing(text string) bool {
	for _, word := range []string{"null", "NULL", "undefined", "None", "NaN", "nan", "nil"} {
		code, ok := strings.CutSuffix(text, word)
		if ok && code != "" && (len(code) <= 8 && code == strings.ToUpper(code) || strings.ContainsAny(code, "0123456789")) {
			return true
		}
		if number, ok := strings.CutPrefix(text, word); ok && number != "" && strings.Trim(number, "0123456789-_") == "" {
			return true
		}
	}
	return false
}

// hasMissingWord reports whether a short text has a word that stands for a missing value, such as No. null.
func hasMissingWord(text string) bool {
	words := strings.Fields(text)
	for i, word := range words {
		switch strings.Trim(word, ".,;:()<>#!") {
		case "null", "NULL", "undefined", "NaN":
			if i+1 == len(words) || words[i+1] != "and" { // null and void
				return true
			}
		case "None", "nan", "nil":
			if len(words) <= shortText && i > 0 && i == len(words)-1 || len(words) == 2 && i == 0 && words[1] == strings.ToUpper(words[1]) {
				return true
			}
		}
	}
	return false
}

// shortText is the number of words up to which None at the end of a text stands for a missing value. At the beginning,
// it does in front of something like EUR.
const shortText = 3

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
	case "null", "Null", "NULL", "undefined", "NaN", "NaT", "nan", "nil", "None":
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
