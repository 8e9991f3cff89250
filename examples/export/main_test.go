package main

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/messagingtest"
)

func TestExportResumesWithoutLossOrDuplicate(t *testing.T) {
	service := messagingtest.NewServer(t)
	for i := range 25 {
		service.AddCustomers(messaging.Customer{Email: fmt.Sprintf("customer-%02d@example.com", i)})
	}
	client := service.Client(messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
	var out, progress strings.Builder
	params := messaging.CustomerListParams{PerPage: 10}

	failing := failAfter{&out, func() { service.FailNext(1, messagingtest.Status(503)) }}
	err := export(t.Context(), client, params, failing, &progress)
	var pageErr *messaging.PageError
	require.ErrorAs(t, err, &pageErr)
	assert.Contains(t, progress.String(), fmt.Sprintf("-cursor %q", pageErr.Cursor))

	params.Cursor = pageErr.Cursor
	require.NoError(t, export(t.Context(), client, params, &out, io.Discard))
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+25)
	for i, row := range rows[1:] {
		assert.Equal(t, fmt.Sprintf("customer-%02d@example.com", i), row[1])
	}
}

func TestExportStopsWhenAWriteFails(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddCustomers(messaging.Customer{Email: "ada@example.com"})
	full := errors.New("disk full")
	err := export(t.Context(), service.Client(), messaging.CustomerListParams{}, brokenWriter{full}, io.Discard)
	require.ErrorIs(t, err, full)
}

func TestExportUsesAnInMemoryServiceByDefault(t *testing.T) {
	client, closeService, err := connect(func(string) string { return "" })
	require.NoError(t, err)
	defer closeService()
	var out strings.Builder
	require.NoError(t, export(t.Context(), client, messaging.CustomerListParams{PerPage: 100}, &out, io.Discard))
	assert.Equal(t, 251, strings.Count(out.String(), "\n"))
}

// failAfter calls fail before each write, so that a request after the first page
// fails.
type failAfter struct {
	io.Writer
	fail func()
}

func (w failAfter) Write(p []byte) (int, error) {
	w.fail()
	return w.Writer.Write(p)
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }
