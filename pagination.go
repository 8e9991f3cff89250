package messaging

import (
	"context"
	"fmt"
	"hash/maphash"
	"iter"
	"runtime"
	"strings"
	"sync"

	"github.com/google/go-querystring/query"
)

// Page is one page of a list.
type Page[T any] struct {
	Items    []T
	Meta     PageMeta
	Response *Response
}

// PageMeta says where a page stands in its list. An answer without it is the
// only page.
type PageMeta struct {
	HasNextPage, HasPrevPage bool
	// NextPageCursor and PrevPageCursor are opaque; "" where there is no such page.
	NextPageCursor, PrevPageCursor string
	// PerPage is the page size in effect.
	PerPage int
}

// Collect gathers what a range yields. On an error it returns the items before
// it, and the error.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	var all []T
	for item, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}

// listQuery is the query of every list; each uses the part that it has.
type listQuery struct {
	PerPage     int      `url:"per_page,omitempty"`
	Cursor      string   `url:"cursor,omitempty"`
	CustomerIDs []string `url:"customer_ids,comma,omitempty"`
	Emails      []string `url:"emails,comma,omitempty"`

	// byEmail says that a customer is looked up by Emails, which has to be an
	// e-mail address then. A filter may hold whatever the service has stored.
	byEmail bool
}

// maxFilterQuery is the longest query that filters may make. Servers commonly
// refuse request lines over 8 KiB, and a cursor has to fit beside them.
const maxFilterQuery = 6000

// encode returns the query string. It finds filters that would select somebody
// else, whether or not the rest is validated.
func (q *listQuery) encode(validate bool, p *problems) string {
	if validate {
		if q.PerPage < 0 {
			p.add("per_page", "must not be negative")
		}
		if q.byEmail && q.Emails[0] != "" && !looksLikeEmail(q.Emails[0]) {
			p.in("emails").index(0).add("", "must be an e-mail address")
		}
	}
	p.text("cursor", q.Cursor)
	checkFilter(p, "customer_ids", q.CustomerIDs)
	checkFilter(p, "emails", q.Emails)
	// The filters alone are measured, so that a query which passes for the first
	// page passes for those that have a cursor.
	filters := listQuery{CustomerIDs: q.CustomerIDs, Emails: q.Emails}
	if q.isFiltered() && len(filters.string(p)) > maxFilterQuery {
		p.add(q.longestFilter(), fmt.Sprintf("makes the query longer than %d bytes; ask for fewer at a time, see slices.Chunk", maxFilterQuery))
	}
	return q.string(p)
}

func (q *listQuery) isFiltered() bool { return len(q.CustomerIDs)+len(q.Emails) > 0 }

func (q *listQuery) string(p *problems) string {
	values, err := query.Values(q)
	if err != nil {
		p.add("", "can't be written as a query")
	}
	return values.Encode()
}

// longestFilter names the filter that takes most of the query.
func (q *listQuery) longestFilter() string {
	if len(strings.Join(q.CustomerIDs, ",")) >= len(strings.Join(q.Emails, ",")) {
		return "customer_ids"
	}
	return "emails"
}

func checkFilter(p *problems, field string, values []string) {
	if values != nil && len(values) == 0 {
		p.add(field, "must not be empty: that would select everybody; nil stands for no filter")
	}
	for i, value := range values {
		at := p.in(field).index(i)
		at.requiredText("", value)
		if strings.Contains(value, ",") {
			at.add("", "must not have a comma, which would make it two")
		}
		if strings.TrimSpace(value) != value {
			at.add("", "must not begin or end with a blank, which the service may cut off")
		}
	}
}

// list fetches one page.
func list[T any, M model[T]](ctx context.Context, c *core, op operation, q listQuery, opts []RequestOption) (*Page[T], error) {
	page, err := fetch[T, M](ctx, c, op, q, opts, nil)
	if err != nil {
		return nil, err
	}
	return page, nil
}

// fetch fetches one page, into the room that it is given. Beside an error stands
// a page with the meta alone, where the answer still told.
func fetch[T any, M model[T]](ctx context.Context, c *core, op operation, q listQuery, opts []RequestOption, room []T) (*Page[T], error) {
	rows := &pageReader[T, M]{perPage: q.PerPage, items: room[:0]}
	x := c.newExchange(ctx, call{operation: op, rows: rows}, opts)
	x.call.query = q.encode(!x.settings.withoutValidation, &x.problems)
	response, err := x.run()
	return &Page[T]{Items: rows.items, Meta: rows.meta(), Response: response}, err
}

// pageReader reads a page in either of the service's two envelopes: rows in
// "data" with "meta" beside it, or both within an outer "data".
type pageReader[T any, M model[T]] struct {
	perPage      int
	items        []T
	skipRows     bool
	outer, inner *PageMeta
}

// maxRows is the number of rows that no page may exceed, unless more than half
// of it were asked for.
const maxRows = 10_000

func (p *pageReader[T, M]) readData(r *reader) error {
	if r.kind() != kindObject {
		return p.readRows(r)
	}
	hasRows := false
	err := r.object(func(key []byte) error {
		switch string(key) {
		case "data":
			if hasRows && !p.skipRows {
				return errTwice
			}
			hasRows = true
			return p.readRows(r)
		case "meta":
			return readMeta(r, &p.inner)
		default:
			return r.skip()
		}
	})
	if err == nil && !hasRows && !p.skipRows {
		err = at("data", errMissing)
	}
	return err
}

func (p *pageReader[T, M]) readRows(r *reader) error {
	if null, err := r.null(); null {
		return err
	}
	if p.skipRows { // however deep they go
		return r.scalar(r.json.Skip())
	}
	limit := max(maxRows, 2*p.perPage)
	return r.array(func(i int) error {
		if i == limit {
			return fmt.Errorf("is one row too many: %w", ErrTooLarge)
		}
		if cap(p.items) == 0 {
			p.items = make([]T, 0, p.capacity())
		}
		var item T
		p.items = append(p.items, item)
		return M(&p.items[i]).decode(r)
	})
}

// capacity is the room for the rows that are likely to come.
func (p *pageReader[T, M]) capacity() int {
	const serviceDefault = 20
	if p.perPage <= 0 {
		return serviceDefault
	}
	return min(p.perPage, 1000)
}

func (p *pageReader[T, M]) readMeta(r *reader) error { return readMeta(r, &p.outer) }

func (p *pageReader[T, M]) withoutRows() { *p = pageReader[T, M]{perPage: p.perPage, skipRows: true} }

func (p *pageReader[T, M]) finish() error {
	if p.outer != nil && p.inner != nil && *p.outer != *p.inner {
		return at("meta", errTwoMetas)
	}
	return nil
}

func (p *pageReader[T, M]) meta() PageMeta {
	switch {
	case p.finish() != nil, p.outer == nil && p.inner == nil:
		return PageMeta{}
	case p.outer != nil:
		return *p.outer
	default:
		return *p.inner
	}
}

// readMeta reads a meta object. null and an empty list, which some servers write
// for an empty object, are none.
func readMeta(r *reader, into **PageMeta) error {
	if *into != nil {
		return errTwice
	}
	switch r.kind() {
	case kindNull:
		return r.skip()
	case kindArray:
		return r.array(func(int) error { return r.unexpected("nothing") })
	}
	m := new(metaReader)
	err := r.object(func(key []byte) error { return m.readMember(r, key) })
	if !m.saysNext {
		m.meta.HasNextPage = m.meta.NextPageCursor != ""
	}
	*into = &m.meta
	return err
}

// metaReader reads the members of a meta object.
type metaReader struct {
	meta PageMeta
	// hasFlag and hasCursor report whether has_next_page and next_page_cursor have
	// been read. Of two that differ, one ends the list and the other does not.
	hasFlag, hasCursor bool
	saysNext           bool // has_next_page is not null
}

func (m *metaReader) readMember(r *reader, key []byte) (err error) {
	switch string(key) {
	case "has_next_page":
		return m.readFlag(r)
	case "has_prev_page":
		return r.boolean(&m.meta.HasPrevPage)
	case "next_page_cursor":
		if m.hasCursor {
			return errTwice
		}
		m.hasCursor = true
		m.meta.NextPageCursor, err = r.cursor()
		return err
	case "prev_page_cursor":
		m.meta.PrevPageCursor, err = r.cursor()
		return err
	case "per_page":
		return r.integer(&m.meta.PerPage)
	default:
		return r.skip()
	}
}

func (m *metaReader) readFlag(r *reader) error {
	if m.hasFlag {
		return errTwice
	}
	m.hasFlag = true
	if null, err := r.null(); null {
		return err
	}
	m.saysNext = true
	return r.boolean(&m.meta.HasNextPage)
}

// cursor reads a cursor, which must come back to the service as it was.
func (r *reader) cursor() (string, error) {
	var cursor string
	err := r.string(&cursor)
	if strings.Contains(cursor, replacement) {
		return "", errNotUTF8
	}
	return cursor, err
}

// trail is the way that a range has come: it leads on, and never in circles.
type trail struct {
	op    operation
	seed  maphash.Seed
	seen  map[uint64]struct{} // hashes, so that a long walk stays small
	empty int                 // pages in a row
}

// maxEmptyPages is how many empty pages in a row a range goes through.
const maxEmptyPages = 100

func newTrail(op operation, start string) *trail {
	t := &trail{op: op, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{})}
	t.seen[maphash.String(t.seed, start)] = struct{}{}
	return t
}

// next returns the cursor of the page after one with the given meta, "" after
// the last.
func (t *trail) next(meta PageMeta, rows int, response *Response) (string, error) {
	cursor := meta.NextPageCursor
	switch {
	case !meta.HasNextPage:
		return "", nil
	case cursor == "":
		return "", t.bad(response, "has a next page without a cursor")
	}
	hash := maphash.String(t.seed, cursor)
	if _, circle := t.seen[hash]; circle {
		return "", t.bad(response, "leads back to an earlier page")
	}
	t.seen[hash] = struct{}{}
	if t.empty++; rows > 0 {
		t.empty = 0
	}
	if t.empty > maxEmptyPages {
		return cursor, t.bad(response, fmt.Sprintf("is the end of %d empty pages in a row", t.empty))
	}
	return cursor, nil
}

// ahead returns the cursor of the page after one that can't be read, "" where it
// is not told or leads back.
func (t *trail) ahead(meta PageMeta) string {
	if _, circle := t.seen[maphash.String(t.seed, meta.NextPageCursor)]; circle || !meta.HasNextPage {
		return ""
	}
	return meta.NextPageCursor
}

func (t *trail) bad(response *Response, problem string) error {
	return unusable(t.op, response, at("meta.next_page_cursor", fmt.Errorf("%s: %w", problem, ErrBadCursor)))
}

// unusable is the error for an answer that was read, and makes no sense.
func unusable(op operation, response *Response, err error) *DecodeError {
	e := &DecodeError{Call: newCall(op), StatusCode: response.StatusCode, Header: response.Header, Err: err}
	e.complete(response.Attempts, DeliveryAccepted, false)
	return e
}

// pages ranges over pages.
func pages[T any, M model[T]](ctx context.Context, c *core, op operation, q listQuery, opts []RequestOption) iter.Seq2[*Page[T], error] {
	return walk[T, M](ctx, c, op, q, opts, false)
}

// all ranges over the items of pages.
func all[T any, M model[T]](ctx context.Context, c *core, op operation, q listQuery, opts []RequestOption) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page, err := range walk[T, M](ctx, c, op, q, opts, true) {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// walk is the one loop over pages. Everything that the package documentation
// promises about ranges is kept here. Where pages are fleeting, so that nobody
// keeps their Items, they take turns in the same room: one page is read ahead
// while the loop goes through the other.
func walk[T any, M model[T]](ctx context.Context, c *core, op operation, q listQuery, opts []RequestOption, fleeting bool) iter.Seq2[*Page[T], error] {
	return func(yield func(*Page[T], error) bool) {
		var ahead sync.WaitGroup
		defer ahead.Wait()
		if ctx != nil { // a nil context is refused with the other arguments
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
		}

		var rooms [2][]T
		read := func(n int, cursor string) fetched[T] {
			q := q
			q.Cursor = cursor
			page, err := fetch[T, M](ctx, c, op, q, opts, rooms[n%2])
			if fleeting {
				rooms[n%2] = page.Items
			}
			return fetched[T]{page: page, err: err}
		}
		readAhead := !c.perRequest.with(opts, new(problems)).withoutReadAhead
		trail := newTrail(op, q.Cursor)
		cursor, current := q.Cursor, read(0, q.Cursor)
		for n := 0; ; n++ {
			if current.err != nil {
				yield(nil, &PageError{Cursor: cursor, Next: trail.ahead(current.page.Meta), Err: current.err})
				return
			}
			page := current.page
			next, err := trail.next(page.Meta, len(page.Items), page.Response)
			var coming chan fetched[T]
			if readAhead && n > 0 && next != "" && err == nil {
				coming = make(chan fetched[T], 1)
				ahead.Go(func() { fetchAhead(coming, func() fetched[T] { return read(n+1, next) }) })
			}
			switch {
			case !yield(page, nil):
				return
			case err != nil:
				yield(nil, &PageError{Cursor: cursor, Next: next, Err: err})
				return
			case next == "":
				return
			case coming != nil:
				current = (<-coming).landed()
			default:
				current = read(n+1, next)
			}
			cursor = next
		}
	}
}

// fetched is a page, or why there is none.
type fetched[T any] struct {
	page *Page[T]
	err  error
	// panicked and exited are how a transport of the caller's can end a goroutine.
	// Both belong to the goroutine of the caller.
	panicked any
	exited   bool
}

// fetchAhead reads a page, however that ends.
func fetchAhead[T any](coming chan<- fetched[T], read func() fetched[T]) {
	f := fetched[T]{exited: true}
	defer func() {
		f.panicked = recover()
		coming <- f
	}()
	f = read()
}

// landed is f in the goroutine of the caller.
func (f fetched[T]) landed() fetched[T] {
	switch {
	case f.panicked != nil:
		panic(f.panicked)
	case f.exited:
		runtime.Goexit()
	}
	return f
}
