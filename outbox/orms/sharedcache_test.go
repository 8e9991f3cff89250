//go:build cgo

package orms_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/messagingtest"
	"github.com/messaging-go/messaging/outbox"
	"github.com/messaging-go/messaging/outbox/sqlite"
)

func TestConnectionsOfMattnCanShareACache(t *testing.T) {
	db := open(t, "sqlite3", "file:"+filepath.Join(t.TempDir(), "shop.db")+"?cache=shared&_txlock=immediate&_journal_mode=WAL")
	store, err := sqlite.New(t.Context(), db)
	require.NoError(t, err)
	o := newSendingOutbox(t, store, messagingtest.NewServer(t))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- o.Run(ctx) }()
	var group sync.WaitGroup
	const callers, each = 4, 50
	for i := range callers {
		group.Go(func() {
			for n := range each {
				_, err := o.Enqueue(t.Context(), outbox.Item{Key: fmt.Sprintf("%d %d", i, n), Prepared: request(t)})
				assert.NoError(t, err)
				_, err = o.Counts(t.Context())
				assert.NoError(t, err)
				for _, err := range o.List(t.Context(), outbox.Filter{}) {
					assert.NoError(t, err)
				}
			}
		})
	}
	group.Wait()
	require.Eventually(t, func() bool {
		counts, err := o.Counts(t.Context())
		require.NoError(t, err)
		return counts.Accepted == callers*each
	}, 5*time.Minute, 5*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}
