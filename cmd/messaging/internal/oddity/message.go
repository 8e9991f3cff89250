package oddity

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/mail"
)

var (
	// fileName matches what can only be the name of a file, also after the @ of a flag.
	fileName = newPattern(`(?i)^@?[^<>\n]+\.(html?|txt|md|json|mjml|eml|csv)$`)
	// variable matches a variable that a shell has not replaced, within a text.
	variable = newPattern(`\$\{[A-Za-z_][A-Za-z0-9_]*\}|\$[A-Z_][A-Z0-9_]{2,}\b`)
	conflict = newPattern(`(?m)^(<{7}|>{7}) `)
	address  = newPattern(`[\w.+-]+@[\w-]+\.[\w.-]+`)
	image    = newPattern(`(?i)<img\b`)
	ownFile  = newPattern(`(?i)<img\b[^>]*\bsrc\s*=\s*["']?(file:|https?://(localhost|127\.)|[a-z]:\\)`)
)

// programError matches the first line of what a program or a server says when it fails.
var programError = newPattern(`^(Traceback \(most recent call last\)|curl: \(\d+\)|jq: error|` +
	`(Error:? )?[45]\d\d (Bad|Unauthorized|Forbidden|Not|page not|Internal|Service|Gateway)\b|` +
	`[^\n]{0,80}: (No such file or directory|command not found|Permission denied|Connection refused)$)|(?i)^<\?xml\b|<title>\s*[45]\d\d\b`)

// missingEnd returns what a message lacks that was cut off, such as </html>, or "".
func missingEnd(message string) string {
	lower := strings.ToLower(message)
	if strings.Count(message, "<!--") > strings.Count(message, "-->") {
		return "-->"
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

// Message returns what looks like a mistake in the subject and the message of a broadcast.
func Message(subject, message string) (odd []string) {
	text := strings.TrimSpace(mail.Text(message))
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
	for _, each := range []struct {
		is   bool
		says string
	}{
		{inSubject != "", "the subject " + Quote(subject) + " " + inSubject},
		{inMessage != "", "the message " + Quote(text) + " " + inMessage},
		{inMessage == "" && variable.matches(message), "the message has the variable " + variable().FindString(message) + " of a shell"},
		{text == "" && !image.matches(message), "the message has no text"},
		{ownFile.matches(message), "the message has an image of this machine, which nobody else can load"},
		{IsFileName(text), "the message " + Quote(text) + " is the name of a file"},
		{isJSON(text), "the message is JSON, as the error of a server is"},
		{programError.matches(text) || programError.matches(strings.TrimSpace(message)),
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

// prose returns why a text for readers looks like a mistake, or "". It may have {{placeholders}}.
func prose(text string) string {
	if name := variable().FindString(text); name != "" {
		return "has the variable " + name + " of a shell"
	}
	return Text(strings.ReplaceAll(text, "{{", ""))
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
