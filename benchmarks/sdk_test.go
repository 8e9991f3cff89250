package benchmarks

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/messaging-go/messaging"
)

// sdkContender is the SDK with its default options. Only read-ahead is off, since no other
// client has it.
var sdkContender = contender{
	name: "messaging", status: http.StatusOK,
	frame: func(p page, _ http.Header) (head, tail string) {
		next := "null"
		if p.hasNext() {
			next = `"` + numberOf(p.from+p.perPage-1) + `"`
		}
		return `{"success":true,"message":"Customers fetched successfully","data":{"data":[`,
			fmt.Sprintf(`],"meta":{"has_next_page":%t,"has_prev_page":%t,"next_page_cursor":%s,"prev_page_cursor":null,"per_page":%d}}}`,
				p.hasNext(), p.from > 0, next, p.perPage)
	},
	connect: func(base string) (client, error) { return newSDK(base) },
}

type sdk struct{ *messaging.Client }

func newSDK(base string, options ...messaging.Option) (sdk, error) {
	client, err := messaging.NewClient(base, "test-key-1", options...)
	return sdk{client}, err
}

func (s sdk) walk(ctx context.Context, perPage int) (rows int, err error) {
	return count(s.Customers.All(ctx, messaging.CustomerListParams{PerPage: perPage}, messaging.WithoutReadAhead()))
}

const eventID = "0b9c1c5e-3c1f-4f5a-9a51-6a4a6f1f2f10"

func (s sdk) call(ctx context.Context) error {
	_, err := s.Events.Trigger(ctx, messaging.EventTriggerParams{
		EventID: eventID,
		Email:   "ada@example.com",
		Values:  map[string]any{"order": "A-1001", "amount": 125},
	})
	return err
}

// paged is the SDK, but walks with Pages. All reuses the memory of its pages, and Pages cannot.
type paged struct{ sdk }

func (p paged) walk(ctx context.Context, perPage int) (rows int, err error) {
	params := messaging.CustomerListParams{PerPage: perPage}
	for page, err := range p.Customers.Pages(ctx, params, messaging.WithoutReadAhead()) {
		if err != nil {
			return rows, err
		}
		rows += len(page.Items)
	}
	return rows, nil
}

// memory is a transport with the same response to every request, so a benchmark with it
// measures only the client.
type memory struct {
	status int
	body   string
}

func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
		if err := req.Body.Close(); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		StatusCode: m.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Header: http.Header{"Content-Type": {"application/json"}},
		Body:   io.NopCloser(strings.NewReader(m.body)), ContentLength: int64(len(m.body)),
	}, nil
}

func newSDKInMemory(status int, body string) (sdk, error) {
	return newSDK("https://api.example.com", messaging.WithHTTPClient(&http.Client{Transport: memory{status, body}}))
}
