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

// Variable returns the variable that a placeholder names, or "": by its whole name, or by what is before the first dot,
// as in order.id.
func Variable(sent map[string]json.RawMessage, placeholder string) string {
	variable, _, _ := strings.Cut(placeholder, ".")
	for _, name := range []string{placeholder, variable} {
		if _, ok := sent[name]; ok {
			return name
		}
	}
	return ""
}

// placeholder is a name in {{name}} or {{{name}}}, which can have filters, as in {{name | upper}}. What begins with a sign,
// such as {{#if}} and {{/if}}, is no name in any usual language.
var placeholder = regexp.MustCompile(`\{\{\s*([^\s{}|#/^>!&][^\s{}|]*)\s*(?:\|[^{}]*)?\}\}`)

// Placeholders returns the names of the placeholders in the texts, sorted, each once.
func Placeholders(texts ...string) (names []string) {
	for _, text := range texts {
		for _, found := range placeholder.FindAllStringSubmatch(text, -1) {
			names = append(names, found[1])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
