package canned

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Service is a service with one list and one call that changes something.
type Service struct {
	Format Format
	// Response and Status are the response to a POST.
	Response string
	Status   int
}

// List returns a handler for a service whose list has the given number of rows. Regardless
// of the path, it responds to a GET with a page of the list, and to a POST with the
// Response of the service.
func List(service Service, rows int) http.Handler {
	l := newLister(service)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.serve(w, r, rows)
	})
}

// Adjustable returns a handler like that of List. The path of a request, which
// [Adjusted] returns, selects the length of the list and the delay of responses.
func Adjustable(service Service, sleep func(time.Duration)) http.Handler {
	l := newLister(service)
	mux := http.NewServeMux()
	mux.HandleFunc("/{rows}/{delay}/", func(w http.ResponseWriter, r *http.Request) {
		rows, err := strconv.Atoi(r.PathValue("rows"))
		delay, delayErr := time.ParseDuration(r.PathValue("delay"))
		if err != nil || delayErr != nil {
			http.NotFound(w, r)
			return
		}
		if delay > 0 {
			sleep(delay)
		}
		l.serve(w, r, rows)
	})
	return mux
}

// Adjusted returns the base URL at which Adjustable serves a list of the given
// length, with every response delayed.
func Adjusted(root string, rows int, delay time.Duration) string {
	return strings.Join([]string{root, strconv.Itoa(rows), delay.String()}, "/")
}

type lister struct {
	service Service
	book    *Book
	buffers sync.Pool
}

func newLister(service Service) *lister {
	return &lister{service: service, book: NewBook(service.Format), buffers: sync.Pool{New: func() any { return new([]byte) }}}
}

func (l *lister) serve(w http.ResponseWriter, r *http.Request, rows int) {
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		w.WriteHeader(l.service.Status)
		_, _ = io.WriteString(w, l.service.Response)
		return
	}
	from, perPage := l.service.Format.Ask(r.URL.Query())
	if from < 0 || perPage <= 0 {
		http.Error(w, "no such page", http.StatusBadRequest)
		return
	}
	buffer := l.buffers.Get().(*[]byte)
	page := Page{From: from, PerPage: perPage, Total: rows, Base: "http://" + r.Host}
	*buffer = l.book.Append((*buffer)[:0], page, w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(*buffer)))
	_, _ = w.Write(*buffer)
	l.buffers.Put(buffer)
}
