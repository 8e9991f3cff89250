package oddity

import (
	"strings"
	"sync"
)

// The patterns of this file match what programs write where a value was meant, as $(command 2>&1) or the conversion
// of an object to a text give it. They know common programs and languages, and cannot know all.

// failures are what programs and servers say when they fail, alone or after a colon, a comma or a parenthesis.
var failures = sync.OnceValue(func() map[string]bool {
	known := map[string]bool{}
	for failure := range strings.FieldsFuncSeq(`no such file|no such file or directory|no such process|no such user|no such key|
is a directory|not a directory|not found|command not found|page not found|permission denied|access denied|connection refused|
connection reset by peer|connection timed out|operation timed out|unbound variable|parameter not set|parameter null or not set|
parameter not set or null|syntax error|parse error|exec format error|i/o error|input/output error|invalid input|invalid option|
invalid number|division by zero|divide by zero|division by 0|name or service not known|temporary failure in name resolution|
no route to host|network is unreachable|no space left on device|out of memory|too many open files|operation not permitted|
device or resource busy|resource temporarily unavailable|argument list too long|broken pipe|bus error|segmentation fault|core dumped|
context deadline exceeded|rate limit exceeded|quota exceeded|unexpected eof|unexpected end of file|unexpected end of json input|
no rows in result set|record not found|key not found|secret not found|object not found|resource not found|variable not set|
authentication failed|token expired|session expired|certificate has expired|bad gateway|bad request|forbidden|gateway timeout|
gateway time-out|internal server error|service unavailable|too many requests|unauthorized|unauthenticated|empty reply from server|
host key verification failed|this account is currently not available|eof`,
		func(r rune) bool { return r == '|' || r == '\n' }) {
		known[failure] = true
	}
	return known
})

// endsInFailure reports whether the first line of a text is one of the failures, or ends with it.
func endsInFailure(text string) bool {
	line, _, _ := strings.Cut(text, "\n")
	line = strings.TrimRight(line, " .!):\r")
	line = strings.ToLower(line[strings.LastIndexAny(line, ":,(")+1:])
	line = strings.TrimSpace(line)
	if len(line) > 4 && (line[0] == '4' || line[0] == '5') && line[3] == ' ' { // 404 Not Found
		line = line[4:]
	}
	return failures()[line]
}

// commands are programs whose errors begin with their name and a colon. Words that people write in front of a
// colon, such as date and cat, are not among them.
const commands = `((ba|da|a|k|z)?sh|awk|aws|base64|basename|curl|dirname|docker|expr|flock|gcloud|git|gpg|grep|gzip|hostname|` +
	`jq|kubectl|ls|messaging|mktemp|mysql(dump)?|nohup|npm|openssl|perl|php|psql|python[\d.]*|readlink|realpath|` +
	`redis-cli|scp|sed|seq|sqlite3|ssh|sudo|tr|uniq|wget|xargs|yq)`

// programError matches how the errors of programs and servers begin.
var programError = newPattern(`^(-?([\w.~-]*/[\w./-]*)?` + commands + `(: |\[\d+\]: )|` +
	`(?i:([\w.-]+: )?((fatal|internal|parse|syntax|runtime|xpath) )?error( \d+)?( (in|near) [^:\n]*)?( ?\([^)\n]*\))?( from [\w ()]+)? ?:)|` +
	`Traceback \(most recent call last\)|File "[^"\n]*", line \d|panic: |goroutine \d+ \[|thread '|Exception in thread |` +
	`[45]\d\d (Bad|Unauthorized|Forbidden|Not|page not|Internal|Service|Gateway)\b|Request failed with status |` +
	`([\w.]+\.)?[A-Z]\w*(Error|Exception)(: |$)|(connect )?E(CONNREFUSED|NOENT|ACCES|TIMEDOUT|NOTFOUND)\b|\[?Errno \d|\[ERROR\]|` +
	`\[eval\]|node:internal/|npm (error|ERR!)|make: \*\*\*|fatal: |Died at |(?i:usage): [^\n]*[\[<]|Try '[\w-]+ --help'|Runtime error \(|` +
	`Can't (locate|open|load) |Cannot connect to |Could not connect to |Unable to (locate|access|connect) |An error occurred|` +
	`Error response from |Use of uninitialized value|SSL certificate problem|download failed: |WARNING: Package|Warning: Undefined |` +
	`Notice: Undefined |PHP \w+: |ORA-\d|SQLSTATE\[|Msg \d+, Level|(date|find|id|make|env|cut): ([‘']|invalid|cannot|option |No )|` +
	`Permission denied \(|exit status \d+$|E\d{4} \d\d:\d\d|--\d{4}-\d\d-\d\d \d\d|% Total |\(standard_in\) \d+: |` +
	`\((error|integer)\) |(NOAUTH|WRONGTYPE) |real\s+\d+(m\d+)?[.,]\d+|total 0$|` +
	`Warning: No outputs|;; |\*\* server can't find |SP2-\d{4}: |no healthy upstream|upstream connect error|default backend - 404|` +
	`(?i:translation missing:)|\[missing "[^"\n]*" translation\])`)

// errorPage matches what a server answers in place of a text.
var errorPage = newPattern(`(?i)^<\?xml\b|<title>\s*([45]\d\d|log ?in|sign ?in|error)\b|<title>[^<]*(not found|access denied|forbidden)`)

// isProgramError reports whether a text is what a program or a server says when it fails.
func isProgramError(text string) bool {
	switch {
	case strings.HasPrefix(text, "<"), strings.Contains(text, "<title>"):
		return errorPage.matches(text)
	case !strings.ContainsAny(text, " \n:"): // a code or a word
		return strings.HasSuffix(text, "Exception") || strings.HasSuffix(text, "Error") || endsInFailure(text)
	}
	return programError.matches(text) || endsInFailure(text)
}

// object matches what a program prints of a value that has no text, or not the one that was wanted.
var object = newPattern(`^(` + strings.Join([]string{
	`<[\w. <>'()-]+ at 0x[0-9a-f]+>`, `<(class|module|enum|built-in|bound) [^\n]*>`, `[bu]('[^\n]*'|"[^\n]*")`, // Python
	`[\[({](None|null|undefined|nan|'[^'\n]*'([:,][^\n]*)?),?[\])}]`,
	`Empty DataFrame[^\x00]*`, `[A-Za-z]\w*\((\[\]|\{\})?(, \w+=\w+)?\)`, `([^\n]*, )?dtype: \w+\)?`,
	`(dict_\w+|(frozen)?set|Series|Decimal|datetime\.\w+|Timestamp|UUID|re\.compile|OrderedDict|defaultdict|Counter|deque)\([^\n]*\)`,
	`\w+(Error|Exception)\([^\n]*\)`,
	`\[(object|Function|AsyncFunction|GeneratorFunction|class)\b[^\n]*\]`, `Promise \{.*`, `\[ <\d+ empty items?> \]`, // JavaScript
	`(async )?function ?\w*\([^\n]*`, `(Symbol|ObjectId|ISODate|NumberLong)\([^\n]*\)`,
	`[\w$]+(\.[\w$]+)+@[0-9a-f]{2,8}`, `\[L[\w.$]+;@[0-9a-f]+`, `(java\.util\.)?Optional(\.empty|\[[^\n]*\]|\([^\n]*\))?`, // Java
	`[A-Z]\w*@[0-9a-f]{5,8}`, `[A-Z]\w*(\(\d+\))? \{\}`,
	`[A-Z]\w*(\(\w+=[^\n]*\)| ?\{\w+(=|: )[^\n]*\})`, `System\.[A-Z][\w.]*(` + "`" + `\d)?(\[[^\n]*\])?`,
	`<#.*>`, `#<.*>`, `([\w:]+=)?(ARRAY|HASH|CODE|SCALAR|REF|GLOB)\(0x[0-9a-f]+\)`, // Ruby, Perl and PHP
	`stdClass Object\b.*`, `Resource id #\d+`, `(bool|int|float|string)\([^\n]*\)( "[^\n]*")?`,
	`(map\[|&\{)[^\n]*`, `0xc[0-9a-f]{9}`, `(Some|Just)\([^\n]*\)`, `(std::)?null(ptr|opt)`, // Go and others
	`(Just|Left|Right) "[^\n]*"`, `\[1\] ("[^\n]*"|NA|TRUE|FALSE)`, `[a-z]\w* =`, // Haskell, R and SQLite
	`[┌╭][^\x00]*`, `\+-{2,}[^\x00]*`, // a table
}, "|") + `)$`)

// isObject reports whether a text is what a program prints of an object. A million rows are looked at, and few have
// the signs of one.
func isObject(text string) bool {
	switch text {
	case "Array", "Object", "DBNull", "nullptr", "NilClass", "NoneType", "DataFrame", "Closure":
		return true
	}
	for _, beginning := range []string{"0xc", "System.", "Optional", "java.util.", "Empty ", "stdClass ", "dtype", "std::", "+--"} {
		if strings.HasPrefix(text, beginning) {
			return object.matches(text)
		}
	}
	hasSign := strings.HasSuffix(text, " =") || strings.ContainsAny(text, "<[({@'\"┌╭#")
	return strings.Contains(text, "[object ") || hasSign && object.matches(text)
}

// noRows matches what a database or a cache says when it has found nothing.
var noRows = newPattern(`^(?i)(\(\d+ rows?( affected)?\)|(no|0) (rows?|results?|records?)( (selected|found|returned|affected|in set))?|` +
	`empty set( \([^)]*\))?|\(empty [a-z ]+\)|xpath set is empty|no value found at .*|#?n/a #?n/a|missing value)\.?$`)

// isNoRows reports whether a text says that there was no value.
func isNoRows(text string) bool { return strings.Contains(text, " ") && noRows.matches(text) }

// zeroTimes are the first times of calendars, which programs write in place of one that is not there.
var zeroTimes = []string{"0000-00-00", "0001-01-01", "1899-12-30", "1899-12-31", "1969-12-31", "1970-01-01", "1900-01-00", "1/0/1900",
	"1 Jan 1970", "Jan 1 1970", "Jan 01 1970"}

// isZeroTime reports whether a text has such a time, or the one of the first hours of 1970 that is still 1969 in America.
func isZeroTime(text string) bool {
	for _, zero := range zeroTimes {
		if strings.Contains(text, zero) {
			return true
		}
	}
	return strings.Contains(text, "Dec 31 ") && strings.Contains(text, "1969")
}

// isStream reports whether a text is the name that a shell gives the output of a command, as <(command) does.
func isStream(text string) bool {
	return strings.HasPrefix(text, "/dev/fd/") || strings.HasPrefix(text, "/proc/self/fd/") || text == "/dev/stdin" || text == "/dev/null"
}
