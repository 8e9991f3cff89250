package mail

import (
	"encoding/json"
	"slices"
	"strings"
)

// These are what services for email usually fill in, without a variable. Whether this one does is not documented, so a
// placeholder with such a name is no mistake that a request shows.
var (
	customerFields = []string{"customerid", "email", "firstname", "lastname", "phoneno"}
	serviceFields  = []string{"unsubscribe", "unsubscribeurl", "unsubscribelink", "viewinbrowser", "viewinbrowserurl",
		"viewinbrowserlink", "preferences", "preferencesurl"}
)

// IsCustomerField reports whether a placeholder names a field of the customer, in any spelling.
func IsCustomerField(placeholder string) bool {
	return slices.Contains(customerFields, strings.TrimPrefix(squeezed(placeholder), "customer."))
}

// IsServiceField reports whether a placeholder names what only the service knows, such as the address to unsubscribe.
func IsServiceField(placeholder string) bool {
	return slices.Contains(serviceFields, squeezed(placeholder))
}

func squeezed(placeholder string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(placeholder))
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
