package messagingtest

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
)

// defaultPerPage is the page size where the query names none.
const defaultPerPage = 20

// pageMeta says where a page stands in its list.
type pageMeta struct {
	HasNextPage    bool    `json:"has_next_page"`
	HasPrevPage    bool    `json:"has_prev_page"`
	NextPageCursor *string `json:"next_page_cursor"`
	PrevPageCursor *string `json:"prev_page_cursor"`
	PerPage        int     `json:"per_page"`
}

// cursor is a place between two records of a list, and which way to read from
// there. Records keep their positions, so it stays right when more are added.
type cursor struct {
	list     string
	backward bool
	position int // of the record after it
}

// String writes the cursor as clients see it: a text with a checksum, so that
// one that a client has cut or made up is noticed.
func (c cursor) String() string {
	text := fmt.Sprintf("%s %t %d", c.list, c.backward, c.position)
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%08x %s", crc32.ChecksumIEEE([]byte(text)), text))
}

// parseCursor reads a cursor that was given out for a list of that length or
// shorter. One is given out only where there is a record to go on with.
func parseCursor(text, list string, length int) (c cursor, known bool) {
	decoded, _ := base64.RawURLEncoding.DecodeString(text)
	var checksum uint32
	_, _ = fmt.Sscanf(string(decoded), "%08x %s %t %d", &checksum, &c.list, &c.backward, &c.position)
	return c, c.String() == text && c.list == list && c.position < length
}

// page returns the rows that the query asks for, and where they stand. What is
// wrong with the query goes to the problems of the request.
func page(in received, list string, length int, wanted func(i int) bool, row func(i int) any) ([]any, *pageMeta) {
	perPage, from := in.page(list, length)
	if len(in.problems) > 0 {
		return nil, nil
	}
	positions, start, end := window(from, perPage, length, wanted)
	meta := &pageMeta{PerPage: perPage}
	for i := start - 1; i >= 0 && !meta.HasPrevPage; i-- {
		meta.HasPrevPage = wanted(i)
	}
	for i := end; i < length && !meta.HasNextPage; i++ {
		meta.HasNextPage = wanted(i)
	}
	if meta.HasPrevPage {
		text := cursor{list, true, start}.String()
		meta.PrevPageCursor = &text
	}
	if meta.HasNextPage {
		text := cursor{list, false, end}.String()
		meta.NextPageCursor = &text
	}
	rows := make([]any, len(positions))
	for i, position := range positions {
		rows[i] = row(position)
	}
	return rows, meta
}

// page reads the part of a query that every list has.
func (in received) page(list string, length int) (perPage int, from cursor) {
	perPage = defaultPerPage
	if in.query.Has("per_page") {
		var err error
		if perPage, err = strconv.Atoi(in.query.Get("per_page")); err != nil || perPage < 1 {
			in.problems["per_page"] = []string{"must be a positive whole number"}
		}
	}
	if text := in.query.Get("cursor"); text != "" {
		var known bool
		if from, known = parseCursor(text, list, length); !known {
			in.problems["cursor"] = []string{"is not a cursor of this list"}
		}
	}
	return perPage, from
}

// window returns the positions of the wanted records of a page, and where it
// starts and ends.
func window(from cursor, perPage, length int, wanted func(i int) bool) (positions []int, start, end int) {
	start, end = from.position, from.position
	if from.backward {
		for ; start > 0 && len(positions) < perPage; start-- {
			if wanted(start - 1) {
				positions = append(positions, start-1)
			}
		}
		slices.Reverse(positions)
		return positions, start, end
	}
	for ; end < length && len(positions) < perPage; end++ {
		if wanted(end) {
			positions = append(positions, end)
		}
	}
	return positions, start, end
}

// everyone is the filter of a list that has none.
func everyone(int) bool { return true }
