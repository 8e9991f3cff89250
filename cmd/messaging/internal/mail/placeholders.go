package mail

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// supplied is what services for email usually fill in without a variable: fields of the customer, and addresses of pages.
// Whether this one does is not documented, so a placeholder with such a name is no mistake that a request shows.
var supplied = regexp.MustCompile(`^((customer\.)?(customerid|email|firstname|lastname|phoneno)|` +
	`(unsubscribe|viewinbrowser|preferences)(url|link)?)$`)

// IsSupplied reports whether a placeholder names what the service may fill in by itself, in any spelling.
func IsSupplied(placeholder string) bool {
	return supplied.MatchString(strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(placeholder)))
}

// Variable returns the variable that a placeholder names, or "": either by its whole name, or with the names of
// members, as in order.id.
func Variable(sent map[string]json.RawMessage, placeholder string) string {
	if _, ok := sent[placeholder]; ok {
		return placeholder
	}
	name, path, _ := strings.Cut(placeholder, ".")
	if value, ok := sent[name]; ok && path != "" && hasMember(value, path) {
		return name
	}
	return ""
}

func hasMember(value json.RawMessage, path string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(value, &members) == nil && Variable(members, path) != ""
}

// Placeholders returns the names in {{name}} and {{{name}}} in the texts, sorted, each once. A name can have filters, as in
// {{name | upper}}. What begins with a sign, such as {{#if}} and {{/if}}, is no name in any usual language.
func Placeholders(texts ...string) (names []string) {
	for _, text := range texts {
		for {
			_, after, found := strings.Cut(text, "{{")
			if !found {
				break
			}
			text = after
			inside, _, closed := strings.Cut(after[:min(len(after), maxName)], "}}")
			name, _, _ := strings.Cut(strings.TrimPrefix(inside, "{"), "|")
			if name = strings.TrimSpace(name); closed && isName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func isName(text string) bool {
	return text != "" && !strings.ContainsAny(text, "{} \t\r\n") && !strings.ContainsAny(text[:1], "#/^>!&")
}

// HasStatements reports whether one of the texts has {% … %}, which many languages of templates use for conditions
// and loops.
func HasStatements(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		_, after, found := strings.Cut(text, "{%")
		return found && strings.Contains(after, "%}")
	})
}

// maxName is the length of the longest placeholder.
const maxName = 200
