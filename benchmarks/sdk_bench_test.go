package main

import (
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
//	go test -bench 'ListPage/100$' -benchmem -cpuprofile cpu.prof

func BenchmarkListPage(b *testing.B) {
	for _, rows := range []int{20, 100, 1000} {
		b.Run(fmt.Sprint(rows), func(b *testing.B) {
			page := canned.Whole(canned.Messaging.Format, rows)
			sdk := newSDK(b, http.StatusOK, page)
			b.SetBytes(int64(len(page)))
			measureCalls(b, rows, func() error {
				got, err := sdk.Customers.List(b.Context(), messaging.CustomerListParams{PerPage: rows})
				if err == nil && len(got.Items) != rows {
					err = fmt.Errorf("got %d rows, want %d", len(got.Items), rows)
				}
				return err
			})
		})
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
