package outbox_test

import (
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	catalog "github.com/messaging-go/messaging/internal/service"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlitefile"
)

// stored is an entry that version 0.2 added to testdata/v0.2.sqlite. All of them are
// listed in testdata/v0.2.json.
type stored struct {
	Key       string
	State     outbox.State
	Operation string
	Body      string
}

// openStored opens a copy of the database of version 0.2.
func openStored(t *testing.T, client *messaging.Client) (box, []stored) {
	content, err := os.ReadFile("testdata/v0.2.json")
	require.NoError(t, err)
	var entries []stored
	require.NoError(t, json.Unmarshal(content, &entries))
	database, err := os.ReadFile("testdata/v0.2.sqlite")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "copy.sqlite")
	require.NoError(t, os.WriteFile(path, database, 0o600))
	store, err := sqlitefile.Open(t.Context(), path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	again, err := sqlitefile.Open(t.Context(), path) // which finds it upgraded
	require.NoError(t, err)
	require.NoError(t, again.Close())
	return newBox(t, store, client, []outbox.Option{outbox.Fast(), outbox.WithSealer(reversed{}), outbox.WithKeepSettled(0)}), entries
}

// recorder is a service that accepts every request and keeps its body.
type recorder struct {
	mu   sync.Mutex
	sent []string
}

func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	operation, _ := catalog.Find(request.Method, request.URL.Path)
	r.mu.Lock()
	r.sent = append(r.sent, operation.Name+" "+string(body))
	r.mu.Unlock()
	data := `true`
	if operation == catalog.CreateEvent {
		data = `{"id": "event", "name": "order shipped", "description": "", "parameters": []}`
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: request,
		Body: io.NopCloser(strings.NewReader(`{"success": true, "data": ` + data + `}`))}, nil
}

func TestEntriesOfVersion02AreSentAsTheyWereStored(t *testing.T) {
	r := new(recorder)
	client, err := messaging.NewClient("https://service.test", "test-key-1", messaging.WithHTTPClient(&http.Client{Transport: r}))
	require.NoError(t, err)
	o, entries := openStored(t, client)
	var keys, want []string
	operations := make(map[string]bool)
	for _, e := range entries {
		assert.Equal(t, e.State, stateOf(t, o, e.Key), e.Key)
		keys = append(keys, e.Key)
		operations[e.Operation] = true
		if e.State == outbox.Accepted {
			continue
		}
		want = append(want, e.Operation+" "+e.Body)
		p, err := o.Prepared(t.Context(), e.Key)
		require.NoError(t, err, e.Key)
		assert.Equal(t, e.Body, string(p.Body()), e.Key)
		_, err = p.Recipients()
		assert.NoError(t, err, e.Key)
	}
	assert.Len(t, operations, 4, "all sends of version 0.2")
	n, err := o.Resend(t.Context(), keys...)
	require.NoError(t, err)
	assert.Equal(t, 2, changed(n), "the rejected and the unclear one")
	delivered, err := o.Deliver(t.Context(), keys...)
	require.NoError(t, err)
	assert.Equal(t, outbox.Delivered{Accepted: len(entries)}, delivered)
	assert.ElementsMatch(t, want, r.sent)
	for _, e := range entries {
		entry, err := o.Get(t.Context(), e.Key)
		require.NoError(t, err)
		assert.Empty(t, entry.Error, e.Key)
	}
}

func TestTheSameRequestAsAnEntryOfVersion02IsPresent(t *testing.T) {
	o, entries := openStored(t, newService().client(t))
	for _, e := range entries {
		p, err := messaging.ParsePrepared(e.Operation, []byte(e.Body))
		require.NoError(t, err, e.Key)
		entry, err := o.Enqueue(t.Context(), e.Key, p)
		require.NoError(t, err, e.Key)
		assert.True(t, entry.Present, e.Key)
		assert.Equal(t, e.State, entry.State, e.Key)
		_, err = o.Enqueue(t.Context(), e.Key, request(t, "another"))
		require.ErrorIs(t, err, outbox.ErrKeyConflict, e.Key)
	}
}

func TestTheAgeOfAnEntryOfVersion02IsKnown(t *testing.T) {
	o, _ := openStored(t, newService().client(t))
	var oldest time.Time
	for entry, err := range o.List(t.Context(), outbox.ListParams{Filter: outbox.Filter{State: outbox.Pending}}) {
		require.NoError(t, err)
		if oldest.IsZero() || entry.NotBefore.Before(oldest) {
			oldest = entry.NotBefore
		}
	}
	counts, err := o.Counts(t.Context())
	require.NoError(t, err)
	assert.InDelta(t, time.Since(oldest), counts.OldestPending, float64(time.Minute))
}

func TestAnUpgradedFileHasTheIndexesOfANewOne(t *testing.T) {
	indexes := func(path string) (all []string) {
		store, err := sqlitefile.Open(t.Context(), path)
		require.NoError(t, err)
		require.NoError(t, store.Close())
		db, err := sql.Open("sqlite", path)
		require.NoError(t, err)
		defer db.Close()
		rows, err := db.QueryContext(t.Context(), `SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var statement string
			require.NoError(t, rows.Scan(&statement))
			all = append(all, statement)
		}
		require.NoError(t, rows.Err())
		return all
	}
	folder := t.TempDir()
	database, err := os.ReadFile("testdata/v0.2.sqlite")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, "upgraded"), database, 0o600))
	want := indexes(filepath.Join(folder, "new"))
	assert.Len(t, want, 8)
	assert.Equal(t, want, indexes(filepath.Join(folder, "upgraded")))
}
