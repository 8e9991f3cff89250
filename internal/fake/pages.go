package fake

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"strconv"
)

const defaultPerPage = 20

// pageMeta is the meta object of a list response.
type pageMeta struct {
	HasNextPage    bool    `json:"has_next_page"`
	HasPrevPage    bool    `json:"has_prev_page"`
	NextPageCursor *string `json:"next_page_cursor"`
	PrevPageCursor *string `json:"prev_page_cursor"`
	PerPage        int     `json:"per_page"`
}

// cursor is a position between two records of a list, and a direction. It remains valid
// when records are added, because they are added at the end.
type cursor struct {
	list     string // the path of the list
	backward bool
	position int // the index of the record after the cursor
}

// String returns the cursor as clients see it. A checksum lets the server detect a cursor
// that was modified or made up.
func (c cursor) String() string {
	text := fmt.Sprintf("%s %t %d", c.list, c.backward, c.position)
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%08x %s", crc32.ChecksumIEEE([]byte(text)), text))
}

// parseCursor parses a cursor of a list of the given length, and reports whether it is
// valid. Every valid cursor is followed by a record.
func parseCursor(s, list string, length int) (c cursor, ok bool) {
	decoded, _ := base64.RawURLEncoding.DecodeString(s)
	var checksum uint32
	_, _ = fmt.Sscanf(string(decoded), "%08x %s %t %d", &checksum, &c.list, &c.backward, &c.position)
	return c, c.String() == s && c.list == list && c.position < length
}

// page returns the page of a list that the query asks for, and its meta. If the query is
// invalid, page adds to in.problems and returns nil.
func page[T any](in *input, all []T) ([]T, *pageMeta) {
	perPage, from := in.paging(len(all))
	if len(in.problems) > 0 {
		return nil, nil
	}
	start, end := from.position, from.position // of the records that the page covers
	if from.backward {
		start -= min(perPage, start)
	} else {
		end += min(perPage, len(all)-end)
	}
	rows := append([]T{}, all[start:end]...) // never null
	meta := &pageMeta{PerPage: perPage, HasPrevPage: start > 0, HasNextPage: end < len(all)}
	if meta.HasPrevPage {
		meta.PrevPageCursor = new(cursor{in.operation.Path, true, start}.String())
	}
	if meta.HasNextPage {
		meta.NextPageCursor = new(cursor{in.operation.Path, false, end}.String())
	}
	return rows, meta
}

// paging reads the query parameters that all lists share. length is that of the list.
func (in *input) paging(length int) (perPage int, from cursor) {
	perPage = defaultPerPage
	if in.query.Has("per_page") {
		var err error
		if perPage, err = strconv.Atoi(in.query.Get("per_page")); err != nil || perPage < 1 {
			in.problems["per_page"] = []string{"must be a positive integer"}
		}
	}
	if s := in.query.Get("cursor"); s != "" {
		var ok bool
		if from, ok = parseCursor(s, in.operation.Path, length); !ok {
			in.problems["cursor"] = []string{"is not a cursor of this list"}
		}
	}
	return perPage, from
}
