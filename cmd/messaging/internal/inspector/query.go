package inspector

import (
	"net/url"
	"slices"
	"strings"

	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/openapi"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/service"
)

// queryParameter is a parameter in the query of a request.
type queryParameter struct {
	Name     string
	Values   []string // decoded
	Problems []string
	// Unknown reports whether the operation does not have the parameter, and Meant is the
	// one that was probably meant, or "".
	Unknown bool
	Meant   string
}

// Remark returns what is to be said about a parameter that the operation does not have.
func (p queryParameter) Remark() string {
	return "not a parameter of this operation" + didYouMean(p.Meant)
}

func didYouMean(name string) string {
	if name == "" {
		return ""
	}
	return "; did you mean " + name + "?"
}

// queryParameters returns the query of a request in the order of the names.
func queryParameters(e *history.Entry) (list []queryParameter) {
	if len(e.Request.Query) == 0 {
		return nil
	}
	op := service.Named(e.Op)
	known := openapi.Parameters(op)
	for _, name := range sortedKeys(e.Request.Query) {
		p := queryParameter{Name: name, Values: e.Request.Query[name]}
		if op != nil && op.IsRead() {
			p.Problems = e.Problems[name]
		}
		if p.Unknown = op != nil && !slices.Contains(known, name); p.Unknown {
			p.Meant = words.Nearest(name, known)
		}
		list = append(list, p)
	}
	return list
}

// Query returns the parameters of the query.
func (d *entryDetail) Query() []queryParameter { return queryParameters(d.Entry) }

// Endpoint returns the method, the path and the query of the request.
func (d *entryDetail) Endpoint() string {
	const most = 300
	return d.Entry.Request.Method + " " + d.Entry.Request.Path + readableQuery(d.Entry, most)
}

// readableQuery returns the query of a request as it stands in a URL, but with the
// characters of addresses and lists as people read them. It is cut after most characters.
func readableQuery(e *history.Entry, most int) string {
	if len(e.Request.Query) == 0 {
		return ""
	}
	query := []rune("?" + inQuery.Replace(e.Request.Query.Encode()))
	if len(query) > most {
		query = append(query[:most], '…')
	}
	return string(query)
}

// inQuery restores what needs no escape in a query.
var inQuery = strings.NewReplacer(escapes("@,:/")...)

func escapes(characters string) (pairs []string) {
	for _, c := range characters {
		pairs = append(pairs, url.QueryEscape(string(c)), string(c))
	}
	return pairs
}
