package messaging

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"runtime"
	"strings"
	"sync"

	"github.com/google/go-querystring/query"

	"github.com/messaging-go/messaging/internal/arguments"
	"github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/internal/wire"
)

// Page is one page of a list.
type Page[T any] struct {
	// Cursor is the cursor of this page, which is "" for the first page of a list.
	Cursor   string
	Items    []T
	Meta     PageMeta
	Response *Response
}

// PageMeta is the position of a page in its list. A response without this data is the only
// page.
type PageMeta struct {
	HasNextPage, HasPrevPage bool
	// NextPageCursor and PrevPageCursor are opaque. They are "" if there is no such page.
	NextPageCursor, PrevPageCursor string
	// PerPage is the page size in effect.
	PerPage int
}

// Collect returns the items that seq yields. If seq yields an error, Collect returns the
// items before the error, and the error. It panics if seq is nil.
func Collect[T any](seq iter.Seq2[T, error]) ([]T, error) {
	if seq == nil {
		panic("messaging: Collect: the sequence is nil")
	}
	var all []T
	for item, err := range seq {
		if err != nil {
			return all, err
		}
		all = append(all, item)
	}
	return all, nil
}

// listQuery is the query of every list. Each list uses some of the fields.
type listQuery struct {
	PerPage     int      `url:"per_page,omitempty"`
	Cursor      string   `url:"cursor,omitempty"`
	CustomerIDs []string `url:"customer_ids,comma,omitempty"`
	Emails      []string `url:"emails,comma,omitempty"`

	// lookup is the argument of a lookup, or "" for a list. A lookup has only one filter
	// with one element.
	lookup string
	name   string // that an event is looked up by, which is not sent
}

// The arguments of lookups.
const (
	byCustomerID = "customerID"
	byEmail      = "email"
	byName       = "name"
)

// maxFilterQuery is the longest query that filters may form. Servers commonly reject
// request lines over 8 KiB, and a cursor must fit next to the filters.
const maxFilterQuery = 6000

// encode returns the query string. It checks for filters that would select other customers
// even if validate is false.
func (q *listQuery) encode(validate bool, p *arguments.Problems) string {
	if validate && q.PerPage < 0 {
		p.Add("per_page", "must not be negative")
	}
	if q.lookup == byName {
		p.RequiredText(byName, q.name)
		p.Trimmed(byName, q.name)
	}
	p.Text("cursor", q.Cursor)
	q.checkFilter(p, "customer_ids", q.CustomerIDs)
	q.checkFilter(p, "emails", q.Emails)
	// Only the filters are measured, so that a query that is valid for the first page is
	// valid for the pages that have a cursor.
	filters := listQuery{CustomerIDs: q.CustomerIDs, Emails: q.Emails}
	if len(q.CustomerIDs)+len(q.Emails) > 0 && len(filters.string()) > maxFilterQuery {
		q.addTooLong(p)
	}
	return q.string()
}

// addTooLong adds a problem with the filter that takes most of the query.
func (q *listQuery) addTooLong(p *arguments.Problems) {
	problem := fmt.Sprintf("makes the query longer than %d bytes", maxFilterQuery)
	if q.lookup != "" {
		p.Add(q.lookup, problem)
		return
	}
	field := "emails"
	if len(strings.Join(q.CustomerIDs, ",")) >= len(strings.Join(q.Emails, ",")) {
		field = "customer_ids"
	}
	p.Add(field, problem+": ask for fewer at a time, see slices.Chunk")
}

func (q *listQuery) string() string {
	values, _ := query.Values(q) // which fails only for what is no struct
	return values.Encode()
}

func (q *listQuery) checkFilter(p *arguments.Problems, field string, values []string) {
	if values != nil && len(values) == 0 {
		p.Add(field, "must have at least one value, since the service would select all customers without one")
	}
	for i, value := range values {
		at := p.In(field).Index(i)
		if q.lookup != "" {
			at = p.In(q.lookup)
		}
		at.RequiredText("", value)
		if strings.Contains(value, ",") {
			at.Add("", "must not contain a comma: the service would read two values")
		}
		if field == "emails" && arguments.HasBlank(value) {
			at.Add("", "must not contain white space or a control character")
			continue
		}
		at.Trimmed("", value)
	}
}

// list is a list of the service, or the part of it that a query selects.
type list[T any, M model[T]] struct {
	core  *core
	op    *service.Operation
	query listQuery
	opts  []RequestOption
}

// page fetches the page at the cursor of the query.
func (l list[T, M]) page(ctx context.Context) (*Page[T], error) {
	fetched := l.fetch(ctx, l.query.Cursor, nil, nil)
	if fetched.err != nil {
		return nil, fetched.err
	}
	return fetched.page, nil
}

// fetched is a page that was fetched, or the error.
type fetched[T any] struct {
	// page holds only the meta if err is not nil. The meta is zero if the response had
	// none.
	page *Page[T]
	err  error
	// next is the cursor of the next page. cursorErr is why there is no valid one.
	next      string
	cursorErr error
	// The caller's own transport can panic or call runtime.Goexit. Both must happen in
	// the goroutine of the caller.
	panicked any
	exited   bool
}

// fetch fetches the page at cursor into buffer. A range passes a guard for its next cursor.
func (l list[T, M]) fetch(ctx context.Context, cursor string, buffer []T, guard *cursorGuard) (f fetched[T]) {
	call := l.core.begin(ctx, l.op, l.opts)
	defer call.finish()
	query := l.query
	query.Cursor = cursor
	rows := &pageReader[T, M]{perPage: query.PerPage, resumed: cursor != "", items: buffer[:0]}
	call.exchange.Rows = rows
	call.exchange.Query = query.encode(!call.settings.withoutValidation, &call.problems)
	response, err := call.perform()
	f.page, f.err = &Page[T]{Cursor: cursor, Items: rows.items, Meta: rows.meta(), Response: response}, err
	if err == nil && guard != nil {
		f.next, f.cursorErr = guard.next(f.page.Meta, len(f.page.Items), response)
		call.err = f.cursorErr // for the hooks
	}
	return f
}

// pageReader reads a page in either of the service's two envelopes: rows in
// "data" with "meta" next to it, or both within an outer "data".
type pageReader[T any, M model[T]] struct {
	perPage      int
	resumed      bool // the request had a cursor, so the response must say whether a page follows
	items        []T
	skipRows     bool
	hasNullRows  bool
	outer, inner *metaReader
}

// maxRows is the largest number of rows in a page. If more than half as many rows were
// requested, the limit is twice the number requested.
const maxRows = 10_000

func (p *pageReader[T, M]) ReadData(r *wire.Reader) error {
	if r.Kind() != wire.Object {
		return p.readRows(r)
	}
	hasRows := false
	err := r.Object(func(key []byte) error {
		switch string(key) {
		case "data":
			if hasRows && !p.skipRows {
				return wire.ErrDuplicate
			}
			hasRows = true
			return p.readRows(r)
		case "meta":
			return readMeta(r, &p.inner)
		default:
			return r.Skip()
		}
	})
	if err == nil && !hasRows && !p.skipRows {
		err = wire.At("data", wire.ErrMissing)
	}
	return err
}

func (p *pageReader[T, M]) readRows(r *wire.Reader) error {
	if null, err := r.Null(); null {
		p.hasNullRows = true
		return err
	}
	if p.skipRows {
		return r.Skip()
	}
	limit := max(maxRows, 2*p.perPage)
	return r.Array(func(i int) error {
		if i == limit {
			return wire.TooLarge("rows", int64(limit))
		}
		if cap(p.items) == 0 {
			p.items = make([]T, 0, p.capacity())
		}
		var item T
		p.items = append(p.items, item)
		return M(&p.items[i]).decode(r)
	})
}

// capacity returns the number of rows that are likely to follow.
func (p *pageReader[T, M]) capacity() int {
	const serviceDefault = 20
	if p.perPage <= 0 {
		return serviceDefault
	}
	return min(p.perPage, 1000)
}

func (p *pageReader[T, M]) ReadMeta(r *wire.Reader) error { return readMeta(r, &p.outer) }

func (p *pageReader[T, M]) WithoutRows() { *p = pageReader[T, M]{perPage: p.perPage, skipRows: true} }

// Finish returns an error if the list would end here without the service having said so.
func (p *pageReader[T, M]) Finish() error {
	switch meta := cmp.Or(p.outer, p.inner); {
	case p.metasDiffer():
		return wire.At("meta", errMetasDiffer)
	case p.resumed && (meta == nil || !meta.saysNext && meta.meta.NextPageCursor == ""):
		return wire.At("meta", errNoPosition)
	case p.hasNullRows && (p.resumed || meta != nil && meta.meta.HasNextPage):
		return wire.At("data", errNullRows)
	}
	return nil
}

func (p *pageReader[T, M]) metasDiffer() bool {
	return p.outer != nil && p.inner != nil && p.outer.meta != p.inner.meta
}

func (p *pageReader[T, M]) meta() PageMeta {
	if meta := cmp.Or(p.outer, p.inner); meta != nil && !p.metasDiffer() {
		return meta.meta
	}
	return PageMeta{}
}

// readMeta reads a meta object. A null counts as no meta, and so does an empty array, which
// some servers write for an empty object.
func readMeta(r *wire.Reader, into **metaReader) error {
	if *into != nil {
		return wire.ErrDuplicate
	}
	switch r.Kind() {
	case wire.Null:
		return r.Skip()
	case wire.Array:
		return r.Array(func(int) error { return errElementOfMeta })
	}
	m := new(metaReader)
	err := r.Object(func(key []byte) error { return m.readMember(r, key) })
	if !m.saysNext {
		m.meta.HasNextPage = m.meta.NextPageCursor != ""
	}
	*into = m
	return err
}

var (
	errMetasDiffer   = errors.New("is duplicated, and the copies differ")
	errElementOfMeta = errors.New("is an element of what must be an object")
	errNoPosition    = errors.New("has neither has_next_page nor next_page_cursor, so the list may go on")
	errNullRows      = errors.New("is null, and the list goes on")
)

// metaReader reads the members of a meta object.
type metaReader struct {
	meta PageMeta
	// hasFlag and hasCursor report whether has_next_page and next_page_cursor have been
	// read. A duplicate is an error: if the two differ, only one of them ends the list.
	hasFlag, hasCursor bool
	saysNext           bool // has_next_page is not null
}

func (m *metaReader) readMember(r *wire.Reader, key []byte) (err error) {
	switch string(key) {
	case "has_next_page":
		if m.hasFlag {
			return wire.ErrDuplicate
		}
		m.hasFlag, m.saysNext = true, r.Kind() != wire.Null
		return r.Boolean(&m.meta.HasNextPage)
	case "has_prev_page":
		return r.Boolean(&m.meta.HasPrevPage)
	case "next_page_cursor":
		if m.hasCursor {
			return wire.ErrDuplicate
		}
		m.hasCursor = true
		m.meta.NextPageCursor, err = r.Cursor()
		return err
	case "prev_page_cursor":
		m.meta.PrevPageCursor, err = r.Cursor()
		return err
	case "per_page":
		return r.Integer(&m.meta.PerPage)
	default:
		return r.Skip()
	}
}

// cursorGuard detects cursors that would make a range loop or stop early.
type cursorGuard struct {
	op    *service.Operation
	seed  maphash.Seed
	seen  map[uint64]struct{} // hashes, so that a long range takes little memory
	empty int                 // pages in a row
}

// maxEmptyPages is the number of empty pages in a row that a range accepts.
const maxEmptyPages = 100

func newCursorGuard(op *service.Operation, start string) *cursorGuard {
	g := &cursorGuard{op: op, seed: maphash.MakeSeed(), seen: make(map[uint64]struct{})}
	g.seen[maphash.String(g.seed, start)] = struct{}{}
	return g
}

// next returns the cursor of the next page, or "" after the last page.
func (g *cursorGuard) next(meta PageMeta, rows int, response *Response) (string, error) {
	cursor := meta.NextPageCursor
	switch {
	case !meta.HasNextPage:
		return "", nil
	case cursor == "":
		return "", g.invalid(response, "is missing although has_next_page is true")
	case g.hasSeen(cursor):
		return "", g.invalid(response, "is the cursor of an earlier page")
	}
	g.seen[maphash.String(g.seed, cursor)] = struct{}{}
	if g.empty++; rows > 0 {
		g.empty = 0
	}
	if g.empty > maxEmptyPages {
		return cursor, g.invalid(response, fmt.Sprintf("follows %d empty pages in a row", g.empty))
	}
	return cursor, nil
}

// afterUnreadable returns the cursor of the page after one that cannot be read. It returns
// "" if that cursor is unknown or belongs to an earlier page.
func (g *cursorGuard) afterUnreadable(meta PageMeta) string {
	if !meta.HasNextPage || g.hasSeen(meta.NextPageCursor) {
		return ""
	}
	return meta.NextPageCursor
}

func (g *cursorGuard) hasSeen(cursor string) bool {
	_, seen := g.seen[maphash.String(g.seed, cursor)]
	return seen
}

func (g *cursorGuard) invalid(response *Response, problem string) error {
	return unusable(g.op, response, wire.At("meta.next_page_cursor", fmt.Errorf("%s: %w", problem, ErrBadCursor)))
}

// unusable returns the error for a response that was read but cannot be used.
func unusable(op *service.Operation, response *Response, err error) *DecodeError {
	return &DecodeError{Call: failedCall(op, response.Attempts, DeliveryAccepted, NextFixSetup),
		StatusCode: response.StatusCode, Header: response.Header, Err: err}
}

// all ranges over the items of the pages.
func (l list[T, M]) all(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page, err := range l.pages(ctx, true) {
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

// pages ranges over the pages. It is the only loop over pages, and keeps the promises that
// the package documentation makes about ranges. If reuse is true, the Items of a page are not
// kept: the page that the caller works on and the page that is read ahead then take turns in
// using two buffers.
func (l list[T, M]) pages(ctx context.Context, reuse bool) iter.Seq2[*Page[T], error] {
	return func(yield func(*Page[T], error) bool) {
		// Every range starts over.
		f := &pageFetcher[T, M]{list: l, guard: newCursorGuard(l.op, l.query.Cursor), reuse: reuse}
		defer f.stop()
		if ctx != nil { // a nil context is reported together with other invalid arguments
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			defer cancel()
		}
		readAhead := !l.core.perRequest.with(l.opts, new(arguments.Problems)).withoutReadAhead
		cursor := l.query.Cursor
		current := f.nth(ctx, 0, cursor)
		for n := 0; ; n++ {
			page := current.page
			if current.err != nil {
				yield(nil, &PageError{Cursor: cursor, Next: f.guard.afterUnreadable(page.Meta), Err: current.err})
				return
			}
			next, err := current.next, current.cursorErr
			ahead := readAhead && n > 0 && next != "" && err == nil
			if ahead {
				f.fetchAhead(ctx, n+1, next)
			}
			switch {
			case !yield(page, nil):
				return
			case err != nil:
				yield(nil, &PageError{Cursor: cursor, Next: next, Err: err})
				return
			case next == "":
				return
			case ahead:
				current = (<-f.ahead).inCaller()
			default:
				current = f.nth(ctx, n+1, next)
			}
			cursor = next
		}
	}
}

// pageFetcher fetches the pages of one range.
type pageFetcher[T any, M model[T]] struct {
	list[T, M]
	guard   *cursorGuard // used by one fetch at a time
	reuse   bool
	buffers [2][]T
	// A single goroutine reads ahead, since the stack of a new one would have to grow for
	// each page. It starts with the first page in wanted, which is nil until then. Neither
	// channel ever holds more than one page.
	wanted  chan wantedPage
	ahead   chan fetched[T]
	running sync.WaitGroup
}

// wantedPage is a page to fetch: the n-th, which is at cursor.
type wantedPage struct {
	n      int
	cursor string
}

// nth fetches the n-th page.
func (f *pageFetcher[T, M]) nth(ctx context.Context, n int, cursor string) fetched[T] {
	result := f.fetch(ctx, cursor, f.buffers[n%2], f.guard)
	if f.reuse {
		f.buffers[n%2] = result.page.Items
	}
	return result
}

// fetchAhead fetches the n-th page in another goroutine, which sends it to f.ahead.
func (f *pageFetcher[T, M]) fetchAhead(ctx context.Context, n int, cursor string) {
	if f.wanted == nil {
		f.wanted, f.ahead = make(chan wantedPage, 1), make(chan fetched[T], 1)
		f.running.Go(func() { f.readAhead(ctx) })
	}
	f.wanted <- wantedPage{n, cursor}
	// The request goes out before the caller works on the page. Otherwise, another processor
	// has to wake up to send it, or it waits for the caller if there is only one.
	runtime.Gosched()
}

// readAhead fetches the wanted pages until stop is called, or until a fetch does not return.
func (f *pageFetcher[T, M]) readAhead(ctx context.Context) {
	fetching := false
	defer func() {
		if fetching {
			f.ahead <- fetched[T]{panicked: recover(), exited: true}
		}
	}()
	for page := range f.wanted {
		fetching = true
		result := f.nth(ctx, page.n, page.cursor)
		fetching = false
		f.ahead <- result
	}
}

// stop waits until the goroutine that reads ahead has ended. The context of its fetch must
// be canceled before.
func (f *pageFetcher[T, M]) stop() {
	if f.wanted != nil {
		close(f.wanted)
	}
	f.running.Wait()
}

// inCaller returns f. If the goroutine that fetched it panicked or exited, inCaller does
// the same in the goroutine of the caller.
func (f fetched[T]) inCaller() fetched[T] {
	switch {
	case f.panicked != nil:
		panic(f.panicked)
	case f.exited:
		runtime.Goexit()
	}
	return f
}
