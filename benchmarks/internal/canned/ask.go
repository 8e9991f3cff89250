package canned

import (
	"fmt"
	"net/url"
	"strconv"
)

// AskNumbered parses the query of a service that numbers its pages from 1.
func AskNumbered(query url.Values) (from, perPage int) {
	perPage = intOr(query.Get("per_page"), 20)
	return (intOr(query.Get("page"), 1) - 1) * perPage, perPage
}

// NumberedPath returns the request path for a page of a service that numbers its
// pages from 1.
func NumberedPath(path string, p Page) string {
	return fmt.Sprintf("%s?page=%d&per_page=%d", path, p.PageNumber(), p.PerPage)
}

// PageNumber returns the number of the page, counted from 1.
func (p Page) PageNumber() int { return p.From/p.PerPage + 1 }

// AskAfter returns the query parser of a service whose queries contain the id of
// the last row before the page, in the parameter after.
func AskAfter(after string) func(url.Values) (from, perPage int) {
	return func(query url.Values) (from, perPage int) {
		perPage = intOr(query.Get("limit"), 20)
		if !query.Has(after) {
			return 0, perPage
		}
		return RowOf(query.Get(after)) + 1, perPage
	}
}

// intOr parses an optional number. It returns absent if s is empty, and -1 if s
// is not a number.
func intOr(s string, absent int) int {
	if s == "" {
		return absent
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
