// Package canned is the server side of the benchmarks: services that answer from
// memory, each in its own wire format, at as little cost as can be.
package canned

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// Format is how one service writes a list.
type Format struct {
	// Row writes the i-th row, with Number once where its number belongs.
	Row func(i int) string
	// Frame returns what stands before and after the rows of a page, and sets the
	// header where the service tells there how to go on.
	Frame func(page Page, header http.Header) (head, tail string)
	// Ask reads from a query which page it wants.
	Ask func(query url.Values) (from, perPage int)
	// Path is the request for a page, below the base URL.
	Path func(page Page) string
}

// Page is a part of a list: the rows from From on, at most PerPage of them.
type Page struct {
	From, PerPage, Total int
	// Base is the URL of the service.
	Base string
}

// Rows is how many rows the page has.
func (p Page) Rows() int { return max(0, min(p.PerPage, p.Total-p.From)) }

// Next is the page after this one; it is past the end after the last.
func (p Page) Next() Page {
	p.From += p.PerPage
	return p
}

// Exists reports whether the page has rows.
func (p Page) Exists() bool { return p.From < p.Total }

// Number is the number of the first row. It has as many digits as every other,
// so a row is made from another by writing its number over it.
const Number = "100000000000"

const firstNumber = 100_000_000_000

// NumberOf is the number of a row, as it stands in the row.
func NumberOf(row int) int { return firstNumber + row }

// RowOf finds the row of a number that ends text, as an id does.
func RowOf(text string) int {
	number, err := strconv.Atoi(text[max(0, len(text)-len(Number)):])
	if err != nil {
		return -1
	}
	return number - firstNumber
}

// distinct is how many rows differ in more than their number.
const distinct = 1000

// Book writes the pages of a list of any length from a thousand rows that were
// written beforehand.
type Book struct {
	format  Format
	rows    []string
	numbers []int // where the number begins in each row
}

// NewBook writes the rows. It panics on a format whose rows do not hold their
// number exactly once.
func NewBook(format Format) *Book {
	b := &Book{format: format, rows: make([]string, distinct), numbers: make([]int, distinct)}
	for i := range b.rows {
		row := format.Row(i)
		if strings.Count(row, Number) != 1 {
			panic(fmt.Sprintf("a row needs its number once: %s", row))
		}
		b.rows[i], b.numbers[i] = row, strings.Index(row, Number)
	}
	return b
}

// Append writes a page after what is in buffer.
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
		strconv.AppendInt(buffer[:start], int64(NumberOf(row)), 10)
	}
	return append(buffer, tail...)
}
