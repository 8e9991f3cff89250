package inspector

import (
	"net/http"
	"slices"
)

// setting is how a browser shows the pages. It is in a cookie, so that a page never appears in
// another way first.
type setting struct {
	Name, Label string
	Choices     []choice
}

type choice struct {
	Value, Label string // the one without a value needs no cookie
	Selected     bool
}

var settings = []setting{
	{"theme", "Colors", []choice{{Label: "System"}, {Value: "light", Label: "Light"}, {Value: "dark", Label: "Dark"}}},
}

// settingsOf returns the settings of a browser.
func settingsOf(r *http.Request) (list []setting) {
	for _, s := range settings {
		var value string
		if cookie, err := r.Cookie("messaging-sandbox-" + s.Name); err == nil {
			value = cookie.Value
		}
		at := slices.IndexFunc(s.Choices, func(c choice) bool { return c.Value == value })
		if at < 0 {
			at = slices.IndexFunc(s.Choices, func(c choice) bool { return c.Value == "" })
		}
		s.Choices = slices.Clone(s.Choices)
		s.Choices[at].Selected = true
		list = append(list, s)
	}
	return list
}

// Value returns the choice of the browser.
func (s setting) Value() string {
	return s.Choices[slices.IndexFunc(s.Choices, func(c choice) bool { return c.Selected })].Value
}
