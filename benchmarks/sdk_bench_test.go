package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

// These benchmarks use the public API, and the responses come from memory. So a
// profile shows almost only the SDK:
//
//	go test -bench 'ListPage/customers/100$' -benchmem -cpuprofile cpu.prof

func BenchmarkListPage(b *testing.B) {
	lists := []struct {
		name   string
		format canned.Format
		list   func(context.Context, peers.SDK, int) (rows int, err error)
	}{
		{"customers", canned.Messaging.Format, func(ctx context.Context, sdk peers.SDK, perPage int) (int, error) {
			return length(sdk.Customers.List(ctx, messaging.CustomerListParams{PerPage: perPage}))
		}},
		{"events", canned.Events, func(ctx context.Context, sdk peers.SDK, perPage int) (int, error) {
			return length(sdk.Events.List(ctx, messaging.EventListParams{PerPage: perPage}))
		}},
		{"transactional", canned.Transactional, func(ctx context.Context, sdk peers.SDK, perPage int) (int, error) {
			return length(sdk.Transactional.List(ctx, messaging.TransactionalListParams{PerPage: perPage}))
		}},
	}
	for _, l := range lists {
		for _, rows := range []int{20, 100, 1000} {
			b.Run(fmt.Sprintf("%s/%d", l.name, rows), func(b *testing.B) {
				page := canned.Whole(l.format, rows)
				sdk := newSDK(b, http.StatusOK, page)
				b.SetBytes(int64(len(page)))
				measureCalls(b, rows, func() error {
					got, err := l.list(b.Context(), sdk, rows)
					if err == nil && got != rows {
						err = fmt.Errorf("got %d rows, want %d", got, rows)
					}
					return err
				})
			})
		}
	}
}

// BenchmarkWalk compares All, which reuses the memory of its pages, with Pages,
// which cannot.
func BenchmarkWalk(b *testing.B) {
	const rows, perPage = 1000, 100
	sdk, err := peers.NewMessaging("https://api.example.com",
		messaging.WithHTTPClient(&http.Client{Transport: newPagedTransport(rows, perPage)}))
	require.NoError(b, err)
	params := messaging.CustomerListParams{PerPage: perPage}
	b.Run("All", func(b *testing.B) {
		measureCalls(b, rows, func() error { return drain(sdk.Customers.All(b.Context(), params, messaging.WithoutReadAhead())) })
	})
	b.Run("Pages", func(b *testing.B) {
		measureCalls(b, rows, func() error { return drain(sdk.Customers.Pages(b.Context(), params, messaging.WithoutReadAhead())) })
	})
}

// drain ranges over all values.
func drain[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

// pagedTransport returns the pages of a list from memory.
type pagedTransport map[string]canned.Transport // by cursor

func newPagedTransport(rows, perPage int) pagedTransport {
	pages, cursor := pagedTransport{}, ""
	book := canned.NewBook(canned.Messaging.Format)
	for page := (canned.Page{PerPage: perPage, Total: rows}); page.Exists(); page = page.Next() {
		pages[cursor] = canned.Transport{Status: http.StatusOK, Body: book.Append(nil, page, http.Header{})}
		cursor = fmt.Sprint("from-", page.Next().From)
	}
	return pages
}

func (p pagedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	return p[req.URL.Query().Get("cursor")].RoundTrip(req)
}

func length[T any](page *messaging.Page[T], err error) (int, error) {
	if err != nil {
		return 0, err
	}
	return len(page.Items), nil
}

// newSDK returns a client for which every response is the same, from memory.
func newSDK(b *testing.B, status int, body string) peers.SDK {
	b.Helper()
	sdk, err := inProcess(status, body)
	require.NoError(b, err)
	return sdk
}

// measureCalls runs the benchmark loop, and reports the time per row.
func measureCalls(b *testing.B, rows int, call func() error) {
	b.Helper()
	b.ReportAllocs()
	for b.Loop() {
		if err := call(); err != nil {
			b.Fatal(err)
		}
	}
	if rows > 1 {
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
	}
}

func BenchmarkTrigger(b *testing.B) {
	definition := &messaging.Event{ID: peers.EventID, Parameters: []messaging.EventParameter{
		{Name: "order", Type: messaging.ParameterText, Required: true},
		{Name: "amount", Type: messaging.ParameterNumeric},
	}}
	values := map[string]any{"order": "A-1001", "amount": 125}
	cases := map[string]messaging.EventTriggerParams{
		"by id":                      {EventID: peers.EventID, Email: "ada@example.com", Values: values},
		"checked against definition": {Definition: definition, Email: "ada@example.com", Values: values},
	}
	for name, params := range cases {
		b.Run(name, func(b *testing.B) {
			sdk := newSDK(b, http.StatusOK, canned.Messaging.Response)
			measureCalls(b, 1, func() error {
				_, err := sdk.Events.Trigger(b.Context(), params)
				return err
			})
		})
	}
}

// BenchmarkTriggerByHand makes the call of BenchmarkTrigger without the SDK.
func BenchmarkTriggerByHand(b *testing.B) {
	transport := canned.Transport{Status: http.StatusOK, Body: []byte(canned.Messaging.Response)}
	byHand := peers.NewByHandThrough(transport, "https://api.example.com")
	measureCalls(b, 1, func() error { return byHand.Call(b.Context()) })
}

func BenchmarkEmailBroadcast(b *testing.B) {
	for _, customers := range []int{10, 1000, 100_000} {
		b.Run(fmt.Sprint(customers), func(b *testing.B) {
			sdk, params := newSDK(b, http.StatusOK, canned.Messaging.Response), broadcastTo(customers)
			measureCalls(b, customers, func() error {
				_, err := sdk.Broadcasts.SendEmail(b.Context(), params)
				return err
			})
		})
	}
}

func BenchmarkFailure(b *testing.B) {
	_, badPage := pageAndBadPage(100)
	page := canned.Whole(canned.Messaging.Format, 100)
	cases := []struct {
		name string
		sdk  peers.SDK
		call func(context.Context, peers.SDK) error
	}{
		{"a ValidationError", newSDK(b, http.StatusOK, canned.Messaging.Response), triggerNothing},
		{"a 422 with 4 fields", newSDK(b, http.StatusUnprocessableEntity, refusalOf(4)), trigger},
		{"a 422 with 500 fields", newSDK(b, http.StatusUnprocessableEntity, refusalOf(500)), trigger},
		{"a page with an invalid row", newSDK(b, http.StatusOK, badPage), listCustomers},
		{"a truncated page", newSDK(b, http.StatusOK, page[:len(page)-10]), listCustomers},
		{"HTML instead of a page", newSDK(b, http.StatusOK, "<html><body>Welcome</body></html>"), listCustomers},
	}
	for _, c := range cases {
		b.Run(c.name, func(b *testing.B) {
			measureCalls(b, 1, func() error {
				if c.call(b.Context(), c.sdk) == nil {
					return errors.New("call succeeded, want an error")
				}
				return nil
			})
		})
	}
}

func trigger(ctx context.Context, sdk peers.SDK) error { return sdk.Call(ctx) }

func triggerNothing(ctx context.Context, sdk peers.SDK) error {
	_, err := sdk.Events.Trigger(ctx, messaging.EventTriggerParams{})
	return err
}

func listCustomers(ctx context.Context, sdk peers.SDK) error {
	_, err := sdk.Customers.List(ctx, messaging.CustomerListParams{PerPage: 100})
	return err
}
