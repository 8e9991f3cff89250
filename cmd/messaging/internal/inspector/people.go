package inspector

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
)

// people are the customers that a request created or updated: a page of those that a filter
// selects.
type people struct {
	Find  string // the filter
	Shown []fake.CustomerChange
	Range string // which are shown, or "" if all are
	// Back and Next are the URLs of the other pages, or "".
	Back, Next string
	// Path and Query are where the filter leads.
	Path, Query string
}

// newPeople returns the page of the customers that the URL names.
func newPeople(changes []fake.CustomerChange, path string, query url.Values) people {
	p := people{Find: strings.TrimSpace(query.Get("find")), Path: path, Query: query.Get("q")}
	found := changes
	if p.Find != "" {
		part := strings.ToLower(p.Find)
		found = slices.DeleteFunc(slices.Clone(changes), func(c fake.CustomerChange) bool { return !isNamed(c.Customer, part) })
	}
	from, _ := strconv.Atoi(query.Get("from")) // what is not a number is the first page
	from = max(0, min(from-1, len(found)-1)) / maxRows * maxRows
	to := min(from+maxRows, len(found))
	p.Shown = found[from:to]
	if len(p.Shown) < len(changes) {
		p.Range = describeRange(from, to, len(found), len(changes))
	}
	link := func(from int) string {
		return path + queryString("q", p.Query, "tab", "audience", "find", p.Find, "from", strconv.Itoa(from+1))
	}
	if from > 0 {
		p.Back = link(from - maxRows)
	}
	if to < len(found) {
		p.Next = link(to)
	}
	return p
}

// describeRange says which of the customers are shown.
func describeRange(from, to, found, all int) string {
	text := words.Thousands(found) + " of " + words.Thousands(all)
	switch {
	case found == 0:
		return "No match among " + words.Thousands(all) + "."
	case to-from == found:
		return text + " match."
	}
	shown := fmt.Sprintf("%s to %s of ", words.Thousands(from+1), words.Thousands(to))
	if found == all {
		return shown + words.Thousands(all) + " are shown."
	}
	return shown + words.Thousands(found) + " that match are shown, of " + words.Thousands(all) + "."
}

// isNamed reports whether a name, an address or an id of a customer contains a part, which
// is in lower case.
func isNamed(c fake.Customer, part string) bool {
	return slices.ContainsFunc([]string{c.Email, c.CustomerID, c.PhoneNo, c.FirstName + " " + c.LastName}, func(text string) bool {
		return strings.Contains(strings.ToLower(text), part)
	})
}
