// Package canned is the server side of the benchmarks. Its services respond from
// memory, each in its own wire format, and use as little CPU time as possible.
package canned

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Format is the wire format of the list of one service.
type Format struct {
	// Row returns the JSON of row i. It contains Number exactly once, as the
	// number of the row.
	Row func(i int) string
	// Frame returns the JSON before and after the rows of a page. It sets the
	// response headers if the service uses headers for pagination.
	Frame func(page Page, header http.Header) (head, tail string)
	// Ask parses the query of a request for a page.
	Ask func(query url.Values) (from, perPage int)
	// Path returns the request path for a page, relative to the base URL.
	Path func(page Page) string
}

// Page is a part of a list: at most PerPage rows, starting at From.
type Page struct {
	From, PerPage, Total int
	// Base is the URL of the service.
	Base string
}

// Rows returns the number of rows of the page.
func (p Page) Rows() int { return max(0, min(p.PerPage, p.Total-p.From)) }

// Next returns the next page. After the last page, that page does not exist.
func (p Page) Next() Page {
	p.From += p.PerPage
	return p
}

// Exists reports whether the page has rows.
func (p Page) Exists() bool { return p.From < p.Total }

// Number is the number of the first row. All numbers have the same length, so
// Append can overwrite the number in a copy of a row.
const Number = "100000000000"

const firstNumber int64 = 100_000_000_000

// NumberOf returns the number of a row.
func NumberOf(row int) int64 { return firstNumber + int64(row) }

// RowOf returns the row of an id. An id ends with the number of its row; for any other id,
// RowOf returns -1.
func RowOf(id string) int {
	number, err := strconv.ParseInt(id[max(0, len(id)-len(Number)):], 10, 64)
	if err != nil {
		return -1
	}
	return int(number - firstNumber)
}

// distinct is the number of rows that differ in more than their number.
const distinct = 1000

// Book writes the pages of a list of any length. It repeats a thousand rows that
// it formats in advance, with different numbers.
type Book struct {
	format  Format
	rows    []string
	numbers []int // the offset of the number in each row
}

// NewBook formats the rows. It panics if a row does not contain Number exactly
// once.
func NewBook(format Format) *Book {
	b := &Book{format: format, rows: make([]string, distinct), numbers: make([]int, distinct)}
	for i := range b.rows {
		row := format.Row(i)
		if strings.Count(row, Number) != 1 {
			panic(fmt.Sprintf("row must contain its number exactly once: %s", row))
		}
		b.rows[i], b.numbers[i] = row, strings.Index(row, Number)
	}
	return b
}

// Append appends a page to buffer.
func (b *Book) Append(buffer []byte, page Page, header http.Header) []byte {
	head, tail := b.format.Frame(page, header)
	buffer = append(buffer, head...)
	for i := range page.Rows() {
		if i > 0 {
			buffer = append(buffer, ',')
		}
		row := page.From + i
		start := len(buffer) + b.numbers[row%distinct]
		buffer = append(buffer, b.rows[row%distinct]...)
		strconv.AppendInt(buffer[:start], NumberOf(row), 10)
	}
	return append(buffer, tail...)
}

// Whole returns a page that contains the complete list.
func Whole(format Format, rows int) string {
	return string(NewBook(format).Append(nil, Page{PerPage: rows, Total: rows}, http.Header{}))
}
