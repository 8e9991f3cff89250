package inspector

import (
	"slices"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/search"
	"github.com/messaging-go/messaging/internal/fake"
)

// ListPath returns the path of the list that the page searches.
func (p *page) ListPath() string {
	switch p.Section {
	case requestList.name, "faults", "help", "":
		return requestList.list
	default:
		return "/" + p.Section
	}
}

// Terms are links that remove a term from the search.
func (p *page) Terms() (list []chip) {
	terms := search.Terms(p.Query)
	for i, t := range terms {
		rest := slices.Delete(slices.Clone(terms), i, i+1)
		list = append(list, chip{Label: t.String(), Href: p.ListPath() + queryString("q", written(rest))})
	}
	return list
}

// Corrected is a search that was probably meant by an invalid one, or nil.
func (p *page) Corrected() *chip {
	query := history.Corrected(p.Query)
	if query == "" {
		return nil
	}
	return &chip{Label: query, Href: p.ListPath() + queryString("q", query)}
}

// SearchKeys are the keys of a search.
func (*page) SearchKeys() []history.Term { return history.Keys }

// suggestions are terms that the search field offers. Lists of records take only words.
func (in *Inspector) suggestions(section string) (terms []string) {
	if slices.ContainsFunc(records.Kinds, func(kind *records.Kind) bool { return kind.Name == section }) {
		return nil
	}
	terms = history.Suggestions()
	for _, name := range in.box.History.MarkNames() {
		terms = append(terms, search.Term{Text: "mark:" + name}.String())
	}
	for _, kind := range fake.FaultKinds {
		terms = append(terms, "fault:"+kind)
	}
	const most = 20
	events, _ := in.box.Records.All(records.Events).Search(nil, 0, most)
	for _, event := range events {
		terms = append(terms, search.Term{Text: "event:" + event.Line().Title}.String())
	}
	return terms
}
