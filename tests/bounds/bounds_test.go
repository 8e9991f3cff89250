// Package bounds_test measures what the client allocates for a response, and how long it
// waits for one. It is apart from package hostile_test because it runs without -race, which
// allocates, and takes ten times as long for megabytes that no two goroutines share.
package bounds_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// TestMain fails the package when any test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	mebibyte = 1 << 20
	gigabyte = 1 << 30
	endless  = math.MaxInt
)

// filler is 64 KiB of text.
var filler = strings.Repeat("x", 64<<10)

// respondsWithChunks writes head, then chunk a number of times, and tail, until the
// client has closed the connection. It allocates almost nothing, so that a test
// measures the client.
func respondsWithChunks(head, chunk string, times int, tail string) faultserver.Script {
	return faultserver.Script{faultserver.ReadRequest, faultserver.Write(head), faultserver.Repeat(chunk, times), faultserver.Write(tail)}
}

// responds writes text and closes the connection.
func responds(text string) faultserver.Script {
	return faultserver.Script{faultserver.ReadRequest, faultserver.Write(text)}
}

// gzipBomb is a small piece of gzip that unpacks to eight mebibytes. Several of
// them, one after the other, unpack to one text.
func gzipBomb(t *testing.T) string {
	t.Helper()
	const unpacked = 8 * mebibyte
	var packed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	require.NoError(t, err)
	for range unpacked / len(filler) {
		_, err := io.WriteString(writer, filler)
		require.NoError(t, err)
	}
	require.NoError(t, writer.Close())
	require.Greater(t, unpacked/packed.Len(), 1000, "a bomb unpacks to a thousand times its size")
	return packed.String()
}

// excessiveResponse is a response that exceeds a bound.
type excessiveResponse struct {
	name     string
	answer   faultserver.Script
	failure  error  // an error of the type that is due
	is       error  // nil where there is no sentinel for it
	says     string // within the text of the error
	delivery messaging.Delivery
	// mebibytes is the most that a call may allocate from its beginning to its
	// end, the server included, and so the most by which the heap can grow at any
	// time. It is about twice what was measured without the race detector, under
	// which every step of a growing buffer counts twice.
	mebibytes int
}

func TestBoundsOfAnExcessiveResponse(t *testing.T) {
	for _, e := range append(excessiveBodies(t), excessiveHeaders()...) {
		for name, perform := range map[string]scripted.Call{"read": scripted.ReadCustomers, "send": scripted.CreateEvent} {
			t.Run(e.name+", "+name, func(t *testing.T) { e.check(t, perform) })
		}
	}
}

// excessiveBodies are too much for the default limit of 10 MiB, which the buffer
// reaches in steps that make 31 MiB together, or are errors, which are cut off at
// 64 KiB.
func excessiveBodies(t *testing.T) []excessiveResponse {
	const (
		ok       = "HTTP/1.1 200 OK\r\nConnection: close\r\n"
		data     = ok + "\r\n" + `{"success":true,"data":`
		invalid  = "HTTP/1.1 422 Unprocessable Entity\r\nConnection: close\r\n\r\n"
		tooLarge = "the response exceeds the limit of 10485760 bytes"
	)
	transport, api, decode := new(messaging.TransportError), new(messaging.APIError), new(messaging.DecodeError)
	unknown, rejected := messaging.DeliveryUnknown, messaging.DeliveryRejected
	announced := fmt.Sprintf("Content-Length: %d\r\n\r\n", gigabyte)
	chunk := fmt.Sprintf("%x\r\n%s\r\n", len(filler), filler)
	deep := scripted.NestedArrays(10_001)
	opening, closing := strings.Repeat("[", 1000), strings.Repeat("]", 5_000_000)
	return []excessiveResponse{
		{"a gigabyte out of a gzip bomb", respondsWithChunks(ok+"Content-Encoding: gzip\r\n\r\n", gzipBomb(t), gigabyte/(8*mebibyte), ""),
			decode, messaging.ErrTooLarge, tooLarge, unknown, 64},
		{"a gigabyte that is announced", respondsWithChunks(ok+announced, filler, gigabyte/len(filler), ""),
			decode, messaging.ErrTooLarge, tooLarge, unknown, 64},
		{"a gigabyte that is not announced", respondsWithChunks(ok+"\r\n", filler, gigabyte/len(filler), ""),
			decode, messaging.ErrTooLarge, tooLarge, unknown, 64},
		{"a gigabyte in chunks", respondsWithChunks(ok+"Transfer-Encoding: chunked\r\n\r\n", chunk, gigabyte/len(filler), ""),
			decode, messaging.ErrTooLarge, tooLarge, unknown, 64},
		{"an exbibyte that is announced and does not come", responds(ok + "Content-Length: 1152921504606846976\r\n\r\n{"),
			transport, io.ErrUnexpectedEOF, "", unknown, 4},

		{"10,001 lists within each other as data", responds(data + deep + `}`), decode, nil, "data", unknown, 4},
		{"five million lists within each other as data", respondsWithChunks(data, opening, 5_000, closing+`}`), decode, nil, "data", unknown,
			64},
		{"ten million lists as data that do not end", respondsWithChunks(data, opening, 10_000, ""), decode, nil, "data", unknown, 64},
		{"10,001 lists within each other as an error", responds(invalid + `{"errors":` + deep + `}`), api, messaging.ErrValidation,
			"", rejected, 4},

		{"ten megabytes of an error message", respondsWithChunks(invalid+`{"message":"`, filler, 160, `"}`), api, messaging.ErrValidation, "422",
			rejected, 4},
		{"a million problems with one field",
			respondsWithChunks(invalid+`{"errors":{`, strings.Repeat(`"a":["b"],`, 1000), 1000, `"a":[]}}`),
			api, messaging.ErrValidation, "422", rejected, 8},
		{"a million problems", respondsWithChunks(invalid+`{"errors":[`, strings.Repeat(`{"field":"a"},`, 1000), 1000, `"b"]}`),
			api, messaging.ErrValidation, "422", rejected, 8},
		{"an error text without an end", respondsWithChunks("HTTP/1.1 400 Bad\r\n\r\n", "no\r\n\x1b[31m\x00 ", endless, ""),
			api, nil, `400 Bad Request: no\r\n\x1b[31m\x00 no`, rejected, 4},
		{"an error text of one endless line", respondsWithChunks("HTTP/1.1 400 Bad\r\n\r\n", filler, endless, ""),
			api, nil, "400 Bad Request: xxx", rejected, 4},
	}
}

// excessiveHeaders are over the 1 MiB that the client's own transport allows.
func excessiveHeaders() []excessiveResponse {
	const limit = "server response headers exceeded"
	headerLine := "X-Filler: " + strings.Repeat("x", 1012) + "\r\n"
	beyond := func(name string, answer faultserver.Script) excessiveResponse {
		return excessiveResponse{name, answer, new(messaging.TransportError), nil, limit, messaging.DeliveryUnknown, 16}
	}
	return []excessiveResponse{
		beyond("eleven mebibytes of header", respondsWithChunks("HTTP/1.1 200 OK\r\n", headerLine, 11*1024, "\r\n"+scripted.Success)),
		beyond("a header line without an end", respondsWithChunks("HTTP/1.1 200 OK\r\nX-Filler: ", filler, endless, "")),
		beyond("a status line without an end", respondsWithChunks("HTTP/1.1 200 ", filler, endless, "")),
		beyond("interim answers without an end", respondsWithChunks("", "HTTP/1.1 103 Early Hints\r\n\r\n", endless, "")),
	}
}

func (e excessiveResponse) check(t *testing.T, perform scripted.Call, opts ...messaging.Option) {
	t.Helper()
	server := faultserver.Start(t, e.answer)
	opts = append(opts, messaging.WithAttemptTimeout(5*time.Minute), messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	client, err := messaging.NewClient(server.URL(), scripted.SecretKey, opts...) // with a transport of its own
	require.NoError(t, err)

	allocated := allocatedBy(func() { err = perform(t.Context(), client) })
	t.Logf("%d KiB allocated: %v", allocated>>10, err)
	assert.LessOrEqual(t, allocated, e.mebibytes*mebibyte, "bytes allocated")
	assert.NotErrorIs(t, err, messaging.ErrAttemptTimeout, "it does not take a timeout to end it")

	assert.IsType(t, e.failure, err)
	if e.is != nil {
		assert.ErrorIs(t, err, e.is)
	}
	assert.ErrorContains(t, err, e.says)
	assert.Equal(t, e.delivery, messaging.DeliveryOf(err))
	scripted.RequireOneShortLine(t, err, "", "")
	assert.LessOrEqual(t, len(bodyOf(err)), 64<<10)
}

// allocatedBy is how many bytes are allocated while call runs. Emptying the pools
// first makes it the most that the call can need.
func allocatedBy(call func()) int {
	var before, after runtime.MemStats
	for range 2 {
		runtime.GC()
	}
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return int(after.TotalAlloc - before.TotalAlloc)
}

// bodyOf is what an error keeps of the response.
func bodyOf(err error) []byte {
	var answer *messaging.APIError
	var unreadable *messaging.DecodeError
	switch {
	case errors.As(err, &answer):
		return answer.Body
	case errors.As(err, &unreadable):
		return unreadable.Body
	}
	return nil
}

// Three million rows of {} are nine megabytes. They are stopped by the limit on
// bytes where that is low, and else by the limit on rows: had they all been read,
// they would take up half a gigabyte.
func TestBoundsOfEndlessRows(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" +
		`{"success":true,"meta":{"has_next_page":true,"next_page_cursor":"c2"},"data":[`
	answer := respondsWithChunks(head, strings.Repeat(`{},`, 1000), 3000, `{}]}`)
	for _, list := range scripted.Lists() {
		read := func(ctx context.Context, client *messaging.Client, opts ...messaging.RequestOption) error {
			_, err := list.Page(ctx, client, 0, "", opts...)
			return err
		}
		for _, e := range []struct {
			excessiveResponse
			limit int64
		}{
			{excessiveResponse{"rows", answer, new(messaging.DecodeError), messaging.ErrTooLarge, "data.10000 exceeds the limit of 10000 rows",
				messaging.DeliveryAccepted, 80}, 64 * mebibyte},
			{excessiveResponse{"bytes", answer, new(messaging.DecodeError), messaging.ErrTooLarge, "exceeds the limit of 1048576 bytes",
				messaging.DeliveryUnknown, 8}, mebibyte},
		} {
			t.Run(list.Name+" are stopped by the limit on "+e.name, func(t *testing.T) {
				e.check(t, read, messaging.WithMaxResponseBytes(e.limit))
			})
		}
	}
}

// slowService responds with a beginning at once, and then with one byte a second.
type slowService struct {
	beginning, drops string
	running          sync.WaitGroup
}

func (d *slowService) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	d.running.Go(func() {
		defer func() { _ = far.Close() }()
		request, err := http.ReadRequest(bufio.NewReader(far))
		if err == nil {
			_, err = io.Copy(io.Discard, request.Body)
		}
		if err == nil {
			_, err = io.WriteString(far, d.beginning)
		}
		for i := 0; err == nil; i++ {
			time.Sleep(time.Second)
			_, err = far.Write([]byte{d.drops[i%len(d.drops)]})
		}
	})
	return near, nil
}

func TestBoundsOfASlowResponse(t *testing.T) {
	const limit = 90 * time.Second
	tests := []struct {
		name, beginning, drops string
		failure                error
	}{
		{"a status line", "", "HTTP/1.1 200 " + strings.Repeat("O", 1000), new(messaging.TransportError)},
		{"a header", "HTTP/1.1 200 OK\r\n", "X-Drop: x\r\n", new(messaging.TransportError)},
		{"interim answers", "", "HTTP/1.1 103 Early Hints\r\n\r\n", new(messaging.TransportError)},
		{"a body", "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", " ", new(messaging.TransportError)},
		{"a body in chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", new(messaging.TransportError)},
		{"the body of an error", "HTTP/1.1 422 No\r\nContent-Length: 1000000\r\n\r\n", "no ", new(messaging.APIError)},
	}
	for _, test := range tests {
		for name, perform := range map[string]scripted.Call{"read": scripted.ReadCustomers, "send": scripted.SendBroadcast} {
			scripted.RunInBubble(t, test.name+", "+name, func(t *testing.T) {
				service := &slowService{beginning: test.beginning, drops: test.drops}
				defer service.running.Wait()
				client := scripted.NewClientOver(t, "http://127.0.0.1", &http.Client{Transport: &http.Transport{DialContext: service.dial}},
					messaging.WithAttemptTimeout(limit), messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
				start := time.Now()
				err := perform(t.Context(), client)
				assert.Equal(t, limit, time.Since(start))
				require.IsType(t, test.failure, err)
				var answer *messaging.APIError
				if errors.As(err, &answer) {
					assert.Contains(t, answer.Message, "no no no", "what came is kept")
					return
				}
				assert.ErrorIs(t, err, messaging.ErrAttemptTimeout)
				assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
			})
		}
	}
}

// newEndlessList serves pages of customers, each with a cursor of its own to the
// next, and counts them.
func newEndlessList(t *testing.T, rows string) (client *messaging.Client, pages *int) {
	t.Helper()
	pages = new(int)
	return scripted.NewInMemoryClient(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		*pages++
		_, _ = fmt.Fprintf(w, `{"success":true,"data":[%s],"meta":{"has_next_page":true,"next_page_cursor":"c%d"}}`, rows, *pages)
	}), messaging.WithoutReadAhead()), pages
}

// A range over an endless list takes as much memory as a page: fifty megabytes are
// received here.
func TestBoundsOfEndlessPages(t *testing.T) {
	const settled, enough, mostGrowth = 50, 500, 4 * mebibyte
	row := `{"first_name":"` + strings.Repeat("x", 10_000) + `"},`
	client, pages := newEndlessList(t, strings.Repeat(row, 9)+strings.TrimSuffix(row, ","))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var before, after int
	rows, failure := 0, error(nil)
	for _, err := range client.Customers.All(ctx, messaging.CustomerListParams{}) {
		rows++
		switch {
		case err != nil:
			failure = err
		case rows == settled*10:
			before = heapInUse()
		case rows == enough*10:
			after = heapInUse()
			cancel()
		}
	}
	assert.Equal(t, enough, *pages)
	assert.Less(t, after-before, mostGrowth, "bytes kept of %d pages", enough-settled)
	var failed *messaging.PageError
	require.ErrorAs(t, failure, &failed)
	assert.ErrorIs(t, failure, context.Canceled)
	assert.Equal(t, fmt.Sprint("c", enough), failed.Cursor, "where to go on another time")
}

func heapInUse() int {
	var now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&now)
	return int(now.HeapAlloc)
}
