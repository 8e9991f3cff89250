package oddity

import (
	"encoding/json"
	"fmt"
	"html"
	"slices"
	"strings"
	"unicode"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
	"github.com/messaging-go/messaging/cmd/messaging/internal/visible"
)

var (
	// fileName matches what can only be the name of a file, also after the @ of a flag.
	fileName = newPattern(`(?i)^@?[^<>\n]+\.(html?|txt|md|json|mjml|eml|csv)$`)
	// variable matches a variable that a shell has not replaced, within a text.
	variable = newPattern(`\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[A-Z_][A-Z0-9_]{2,}\b|\B\$([A-Z_][A-Z0-9_]+|[A-Za-z_]\w{2,})\b`)
	// nullLink matches a link that ends with a value that is not there.
	nullLink = newPattern(`(?i)https?://([^\s"'<>?#]+/)?(null|undefined|nan)\b`)
	// openTag matches the beginning of a tag at the end of a message.
	openTag  = newPattern(`<[A-Za-z/][^<>]*$`)
	conflict = newPattern(`(?m)^(<{7}|>{7}) `)
	address  = newPattern(`[\w.+-]+@[\w-]+\.[\w.-]+`)
	image    = newPattern(`(?i)<img\b[^>]*\bsrc\s*=\s*["']?[^"'\s>][^>]*>`)
	// pixel matches an image that nobody sees, and which tells the sender that the message was opened.
	pixel = newPattern(`(?i)\b(width|height)\s*[=:]\s*["']?[01](px)?\b`)
	// head matches the first line of a list of customers.
	head    = newPattern(`(?i)^"?(customer_?id|e-?mail|first_?name|last_?name|phone_?no|id|name)"?([,;\t]"?\w+"?)*\r?\n.`)
	comment = newPattern(`(?s)<!--.*?-->`)
	tag     = newPattern(`</?[A-Za-z][^<>]*>`)
	// placeholderTag matches a placeholder that readers take for a tag, and do not show.
	placeholderTag = newPattern(`<((?i:name)|[A-Za-z]+_\w+)>`)
	ownFile        = newPattern(`(?i)<img\b[^>]*\bsrc\s*=\s*["']?(file:|https?://(localhost|127\.)|[a-z]:\\)`)
)

// unfinished matches what writers leave in a text that is not ready.
var unfinished = newPattern(`\b(TODO|FIXME):|(?i:lorem ipsum|\[draft\])|^(?i:asdf|subject|message|test)$|\b(INSERT|YOUR) [A-Z ]+ HERE\b`)

// endless matches a text that ends where a value was to follow, such as Invoice # and It ends on the.
var endless = newPattern(`(?i)([:=]|(^|\s)[#€$£]|\b(from|until|the|your))$`)

// gap matches where an empty variable has left its place, such as the price is  EUR, Only € today and ?id=.
var gap = newPattern(`(?i)\b(is|are|costs?|on|at|by|from|until|of|for|to|the|your|no\.|code|number|order)  +[^\s]|` +
	`(^|[^\d\s]\s+)[€£] +\p{L}|` +
	`https?://[^\s"'<>]*[?&]((order|user|customer|u)?_?id|order|token|code|user|email|customer|session|key|number)=(["'<&\s]|$)`)

// nameless matches a greeting without its name, and values that are not there within a text.
var nameless = newPattern(`(?i)\b(hello|hi|hey|dear) ([,!]|(null|nil|nan|none|undefined|#?n/a|\\n)(\W|$)|` +
	`\w+ (null|nil|nan|none|undefined|#?n/a)\s*[,!])|` +
	`\bundefined\b|\[object object\]| [,.](\s|$)|\{\{[^}]*$`)

// onlyPlaceholder matches a text that is nothing without its variable.
var onlyPlaceholder = newPattern(`^\{{2,3}[^{}]*\}{2,3}$`)

// nullWord matches null and NaN as words, but for the term of the law.
var nullWord = newPattern(`\b(NaN|null)\b(\s+and void)?`)

// missingEnd returns what a message lacks that was cut off, such as </html>, or "".
func missingEnd(message string) string {
	lower := strings.ToLower(message)
	if strings.Count(message, "<!--") > strings.Count(message, "-->") {
		return "-->"
	}
	if openTag.matches(message) {
		return ">"
	}
	for _, name := range []string{"html", "body", "table"} {
		begins := strings.Count(lower, "<"+name+">") + strings.Count(lower, "<"+name+" ") + strings.Count(lower, "<"+name+"\n")
		if end := "</" + name + ">"; begins > strings.Count(lower, end) {
			return end
		}
	}
	return ""
}

// IsFileName reports whether a text can only be the name of a file.
func IsFileName(text string) bool {
	return fileName.matches(strings.TrimSpace(text)) && !strings.Contains(text, "://")
}

// listed is from how many addresses on a message looks like a list of customers.
const listed = 3

// Message returns what looks like a mistake in the subject and the message of a broadcast, which may have
// a template in place of a message.
func Message(subject, message string) (odd []string) {
	text := strings.TrimSpace(mail.Text(comment().ReplaceAllString(message, "")))
	addresses := len(addressesIn(text))
	inSubject, inMessage, end := prose(subject), prose(text), missingEnd(message)
	for _, link := range mail.Links(message) {
		switch {
		case !link.IsBroken():
		case link.URL == "":
			odd = append(odd, "the link "+Quote(link.Text)+" of the message has no address")
		default:
			odd = append(odd, "no reader can follow the link to "+Quote(link.URL)+" of the message")
		}
	}
	if url := nullLink().FindString(message); url != "" {
		odd = append(odd, "a link of the message leads to "+Quote(url))
	}
	for _, each := range []struct {
		is   bool
		says string
	}{
		{inSubject != "", "the subject " + Quote(subject) + " " + inSubject},
		{inMessage != "", "the message " + Quote(text) + " " + inMessage},
		{inMessage == "" && variable.matches(message), "the message has the variable " + variable().FindString(message) + " of a shell"},
		{text == "" && message != "" && !hasImage(message), "the message has no text"},
		{head.matches(message), "the message begins like a list of customers"},
		{placeholderTag.matches(message), "the message has the placeholder " + placeholderTag().FindString(message)},
		{ownFile.matches(message), "the message has an image of this machine, which nobody else can load"},
		{inMessage == "" && gap.matches(message), "the message lacks a value: " + Quote(gap().FindString(message))},
		{strings.TrimSpace(subject) != subject,
			"the subject " + Quote(subject) + " begins or ends with a space, as if it lacked a value"},
		{inMessage == "" && !hasImage(message) && endless.matches(text),
			"the message ends in " + Quote(ending(text)) + ", as if it lacked a value"},
		{inMessage == "" && isProgramError(strings.TrimSpace(message)),
			"the message " + Quote(text) + " looks like the error of a program"},
		{end != "", "the message has no end: it lacks " + end},
		{addresses >= listed, fmt.Sprintf("the message has %d addresses, as a list of customers has", addresses)},
		{conflict.matches(message), "the message has the marks of a conflict between versions"},
	} {
		if each.is {
			odd = append(odd, each.says)
		}
	}
	return odd
}

// hasImage reports whether a message has an image that readers see.
func hasImage(message string) bool {
	return slices.ContainsFunc(image().FindAllString(message, -1), func(tag string) bool { return !pixel.matches(tag) })
}

// withoutBraces leaves out the beginning of {{placeholders}}, which a text for readers may have.
var withoutBraces = strings.NewReplacer("{{{", "", "{{", "")

// prose returns why a text for readers looks like a mistake, or "".
func prose(text string) string {
	text = html.UnescapeString(text)
	why := Text(withoutBraces.Replace(text))
	switch name := variable().FindString(text); {
	case name != "":
		return "has the variable " + name + " of a shell"
	case why != "":
		return why
	case isProgramError(text):
		return "looks like the error of a program"
	case IsFileName(text):
		return "is the name of a file"
	case text != "" && strings.Trim(address().ReplaceAllString(text, ""), " \n,;<>") == "":
		return "has only addresses"
	case strings.EqualFold(text, "true"), strings.EqualFold(text, "false"):
		return "looks like a missing value"
	case unfinished.matches(text), isUnwritten(strings.ToLower(text)):
		return "looks unfinished"
	case isJSON(text):
		return "is JSON, as the error of a server is"
	case len(strings.Fields(text)) <= longSubject && endless.matches(text), gap.matches(text):
		return "lacks a name or a value"
	case nameless.matches(text), slices.ContainsFunc(nullWord().FindAllString(text, -1), isMissing):
		return "lacks a name or a value"
	case strings.HasPrefix(text, "=") && strings.HasSuffix(text, ")"):
		return "looks like a formula"
	case onlyPlaceholder.matches(text):
		return "has only a placeholder"
	case lacksAll(text):
		return "looks like a missing value"
	case len(strings.Fields(text)) <= shortText && (hasMissingWord(text) || joinsMissing(text)):
		return "has a missing value"
	case text != "" && !isReadable(tag().ReplaceAllString(text, "")):
		return "has hardly any letters"
	}
	return ""
}

// longSubject is the number of words up to which a text is taken for a subject or a line.
const longSubject = 12

// ending returns the last words of a text.
func ending(text string) string {
	words := strings.Fields(text)
	return strings.Join(words[max(0, len(words)-3):], " ")
}

// isReadable reports whether a text has two letters, or a symbol such as an emoji.
func isReadable(text string) bool {
	letters := 0
	for _, r := range text {
		if unicode.Is(unicode.So, r) && !visible.Blank(r) {
			return true
		}
		if unicode.IsLetter(r) && !visible.Blank(r) {
			letters++
		}
	}
	return letters > 1
}

// addressesIn returns the different addresses in a text.
func addressesIn(text string) map[string]bool {
	found := make(map[string]bool)
	for _, each := range address().FindAllString(text, -1) {
		found[strings.ToLower(each)] = true
	}
	return found
}

// isJSON reports whether a text is an object or a list.
func isJSON(text string) bool {
	return (strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[")) && json.Valid([]byte(text))
}
