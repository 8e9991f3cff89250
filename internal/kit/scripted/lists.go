package scripted

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Response returns a page as the body of a response.
func (l List) Response(p Page) string {
	rows := p.Rows
	if rows == "" {
		var list []string
		for _, id := range p.Items {
			list = append(list, fmt.Sprintf(`{%q:%q}`, l.IDField, id))
		}
		rows = "[" + strings.Join(list, ",") + "]"
	}
	meta := ""
	if p.Meta != "" {
		meta = `,"meta":` + p.Meta
	}
	if l.Nested {
		return `{"success":true,"message":"fetched","data":{"data":` + rows + meta + `}}`
	}
	return `{"success":true,"message":"fetched","data":` + rows + meta + `}`
}

// Pages maps each cursor to the page that a service responds with.
type Pages map[string]Page

// With returns a copy in which one page is replaced.
func (ps Pages) With(cursor string, p Page) Pages {
	changed := maps.Clone(ps)
	changed[cursor] = p
	return changed
}

// Page is the response to a request for one page.
type Page struct {
	Items    []string // the ids of the rows
	Rows     string   // JSON in place of the items
	Meta     string   // JSON, "" to leave it out
	Status   int      // 0 for 200
	Body     string   // in place of the whole body
	CutShort bool     // the connection ends within the body
}

// MetaOfLastPage is the meta of a page that no other page follows.
const MetaOfLastPage = `{"has_next_page":false,"has_prev_page":true,"next_page_cursor":null,"prev_page_cursor":"p","per_page":2}`

// MetaBefore is the meta of a page that the page at a cursor follows.
func MetaBefore(cursor string) string {
	const format = `{"has_next_page":true,"has_prev_page":false,"next_page_cursor":%s,"prev_page_cursor":null,"per_page":2}`
	quoted, _ := json.Marshal(cursor)
	return fmt.Sprintf(format, quoted)
}

// maxRequests is more than any test asks for. A range that exceeds it repeats
// itself.
const maxRequests = 1000

// ListService is a handler that serves the pages of a list and records the
// cursors that it was asked for.
type ListService struct {
	Pages Pages
	list  List

	mu      sync.Mutex
	cursors []string
}

// NewListService returns a service for the pages of a list.
func NewListService(list List, pages Pages) *ListService {
	return &ListService{Pages: pages, list: list}
}

// ServeHTTP responds with the page at the cursor of the request, or with 404.
func (s *ListService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	cursor := r.URL.Query().Get("cursor")
	s.mu.Lock()
	s.cursors = append(s.cursors, cursor)
	inLoop := len(s.cursors) > maxRequests
	s.mu.Unlock()
	if inLoop {
		w.WriteHeader(http.StatusLoopDetected)
		return
	}
	page, known := s.Pages[cursor]
	if !known {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body := page.Body
	if body == "" {
		body = s.list.Response(page)
	}
	if page.CutShort {
		w.Header().Set("Content-Length", strconv.Itoa(len(body)+1))
	}
	if page.Status != 0 {
		w.WriteHeader(page.Status)
	}
	_, _ = io.WriteString(w, body)
}

// Cursors returns the cursors that the service was asked for, in order.
func (s *ListService) Cursors() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.cursors)
}

// WaitFor returns when the service was asked for the page at a cursor.
func (s *ListService) WaitFor(tb testing.TB, cursor string) {
	tb.Helper()
	asked := func() bool { return slices.Contains(s.Cursors(), cursor) }
	require.Eventually(tb, asked, 5*time.Second, time.Millisecond, "the page at %q was never asked for", cursor)
}
