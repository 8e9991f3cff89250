package canned

import (
	"fmt"
	"net/url"
	"strconv"
)

// AskNumbered reads the page of a service that counts its pages from 1.
func AskNumbered(query url.Values) (from, perPage int) {
	perPage = intOr(query.Get("per_page"), 20)
	return (intOr(query.Get("page"), 1) - 1) * perPage, perPage
}

// NumberedPath asks for a page of a service that counts its pages from 1.
func NumberedPath(path string, p Page) string {
	return fmt.Sprintf("%s?page=%d&per_page=%d", path, p.PageNumber(), p.PerPage)
}

// PageNumber is the number of the page, counted from 1.
func (p Page) PageNumber() int { return p.From/p.PerPage + 1 }

// AskAfter returns the reader of a service whose query names the row before the
// page.
func AskAfter(after string) func(url.Values) (from, perPage int) {
	return func(query url.Values) (from, perPage int) {
		perPage = intOr(query.Get("limit"), 20)
		if !query.Has(after) {
			return 0, perPage
		}
		return RowOf(query.Get(after)) + 1, perPage
	}
}

// intOr reads a number that may be left out. One that is no number is -1.
func intOr(text string, absent int) int {
	if text == "" {
		return absent
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return -1
	}
	return n
}
