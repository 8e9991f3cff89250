package benchmarks

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

//go:embed testdata
var testdata embed.FS

// written returns what a service writes about a person: a row of its list, or the response to a POST.
func (c contender) written(what string, p person) string {
	template, err := testdata.ReadFile("testdata/" + c.name + "." + what + ".tmpl")
	if err != nil {
		panic(err)
	}
	return strings.NewReplacer("{number}", p.number, "{index}", strconv.Itoa(p.index), "{first}", p.first, "{last}", p.last,
		"{email}", p.email, "{phone}", p.phone, "{created}", p.created.Format(time.RFC3339), "{updated}", p.updated.Format(time.RFC3339),
		"{seen}", p.seen.Format(time.RFC3339), "{created date}", p.created.Format(time.DateOnly), "{seen date}", p.seen.Format(time.DateOnly),
		"{created seconds}", strconv.FormatInt(p.created.Unix(), 10), "{seen seconds}", strconv.FormatInt(p.seen.Unix(), 10),
	).Replace(strings.TrimSpace(string(template)))
}

// person is the data of a row. All services have the same data, so their rows have about the
// same size.
type person struct {
	index                     int
	number                    string
	first, last, email, phone string
	created, updated, seen    time.Time
}

var (
	firstNames = []string{"Ada", "Grace", "Katherine", "Barbara", "Radia", "Hedy", "Margaret", "Frances", "Adele", "Joan"}
	lastNames  = []string{"Lovelace", "Hopper", "Johnson", "Liskov", "Perlman", "Lamarr", "Hamilton", "Allen", "Goldberg", "Clarke", "Bartik"}
)

func newPerson(i int) person {
	first, last := firstNames[i%len(firstNames)], lastNames[i%len(lastNames)]
	created := time.Date(2024, time.January, 1, 8, 0, 0, 0, time.UTC).Add(time.Duration(i) * 7919 * time.Second)
	return person{
		index: i, number: numberOf(i), first: first, last: last,
		email: fmt.Sprintf("%s.%s.%04d@example.com", first, last, i), phone: fmt.Sprintf("+3361%07d", i),
		created: created, updated: created.Add(36 * time.Hour), seen: created.Add(90 * time.Hour),
	}
}

// Every number has twelve digits, so it can be overwritten in a copy of a row.
const (
	firstNumber  = 100_000_000_000
	numberLength = 12
)

func numberOf(row int) string { return strconv.FormatInt(firstNumber+int64(row), 10) }

// page is a part of a list: at most perPage rows of total, from a row on.
type page struct {
	from, perPage, total int
	base                 string // the URL of the service
}

func (p page) number() int   { return p.from/p.perPage + 1 }
func (p page) last() int     { return (p.total + p.perPage - 1) / p.perPage }
func (p page) hasNext() bool { return p.from+p.perPage < p.total }

// read reads the query of a request. Services number their pages, or continue after an id,
// which ends with the number of its row.
func (p page) read(r *http.Request) (page, error) {
	query := r.URL.Query()
	var err error
	if p.perPage, err = strconv.Atoi(query.Get("per_page") + query.Get("limit")); err != nil {
		return p, err
	}
	if number := query.Get("page"); number != "" {
		p.from, err = strconv.Atoi(number)
		p.from = (p.from - 1) * p.perPage
		return p, err
	}
	if id := query.Get("cursor") + query.Get("after") + query.Get("starting_after"); id != "" {
		var number int64
		number, err = strconv.ParseInt(id[max(0, len(id)-numberLength):], 10, 64)
		p.from = int(number + 1 - firstNumber)
	}
	return p, err
}

// book writes pages. It repeats a thousand rows with different numbers, so a decoder that
// caches strings gains less than with one repeated row.
type book struct {
	contender
	response string        // to a POST
	total    int           // the length of the list
	delay    time.Duration // before each response
	rows     [1000]string
	numbers  [1000]int // the offset of the number in each row
}

func newBook(c contender, total int, delay time.Duration) *book {
	b := &book{contender: c, response: c.written("response", newPerson(0)), total: total, delay: delay}
	for i := range b.rows {
		p := newPerson(i)
		b.rows[i] = c.written("row", p)
		b.numbers[i] = strings.Index(b.rows[i], p.number)
	}
	return b
}

func (b *book) write(p page, header http.Header) []byte {
	head, tail := b.frame(p, header)
	body := append(make([]byte, 0, 400*p.perPage), head...)
	for row := p.from; row < min(p.from+p.perPage, p.total); row++ {
		if row > p.from {
			body = append(body, ',')
		}
		start := len(body) + b.numbers[row%len(b.rows)]
		body = append(body, b.rows[row%len(b.rows)]...)
		copy(body[start:], numberOf(row))
	}
	return append(body, tail...)
}

func (b *book) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	time.Sleep(b.delay)
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		w.WriteHeader(b.status)
		_, _ = io.WriteString(w, b.response)
		return
	}
	p, err := page{total: b.total, base: "http://" + r.Host}.read(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body := b.write(p, w.Header())
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body)
}

// addresses are the base URLs of the server process.
type addresses struct {
	Services    map[string]string // by the name of their client
	Long        string            // the service of the SDK with a long list
	Slow        string            // the service of the SDK with a delay, over TLS
	Certificate []byte            // of Slow
}

// The benchmarks walk lists of 10,000 rows: so 10,000 allocs/op are one for each row.
const (
	listLength     = 10_000
	longListLength = 1_000_000
	delay          = 20 * time.Millisecond
)

// serve serves all services until its standard input ends, at the latest with the process that
// started it. All speak HTTP/1.1, so each call in flight needs a connection.
func serve() error {
	a := addresses{Services: make(map[string]string)}
	for _, c := range everyone {
		a.Services[c.name] = httptest.NewServer(newBook(c, listLength, 0)).URL
	}
	a.Long = httptest.NewServer(newBook(sdkContender, longListLength, 0)).URL
	slow := httptest.NewUnstartedServer(newBook(sdkContender, listLength, delay))
	slow.Config.ErrorLog = log.New(io.Discard, "", 0) // a handshake ends early if another connection becomes free
	slow.StartTLS()
	a.Slow, a.Certificate = slow.URL, slow.Certificate().Raw
	err := json.NewEncoder(os.Stdout).Encode(a)
	_, readErr := io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, readErr)
}

// serving is the environment variable that makes the test program the server.
const serving = "MESSAGING_BENCHMARKS_SERVE"

// startServer runs the test program as the server, in another process: so neither its
// allocations nor its garbage count toward a client. Every copy of [http.DefaultTransport]
// trusts it.
func startServer() (server addresses, stop func(), err error) {
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), serving+"=1")
	command.Stderr = os.Stderr
	in, inErr := command.StdinPipe()
	out, outErr := command.StdoutPipe()
	if err := errors.Join(inErr, outErr, command.Start()); err != nil {
		return server, nil, err
	}
	stop = func() {
		_ = in.Close()
		_ = command.Wait()
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err := errors.Join(err, json.Unmarshal(line, &server)); err != nil {
		return server, nil, err
	}
	certificate, err := x509.ParseCertificate(server.Certificate)
	if err != nil {
		return server, nil, err
	}
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	http.DefaultTransport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	return server, stop, nil
}
