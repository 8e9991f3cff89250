package main

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox"
)

// shards are the outboxes of several databases.
type shards []*outbox.Outbox[pgx.Tx]

// of returns the outbox of a key: the one with the highest score. If a database is added,
// only the keys that it gets move.
func (s shards) of(key string) *outbox.Outbox[pgx.Tx] {
	chosen, highest := 0, uint64(0)
	for i := range s {
		sum := sha256.Sum256(fmt.Appendf(nil, "%d/%s", i, key))
		if score := binary.BigEndian.Uint64(sum[:]); score > highest {
			chosen, highest = i, score
		}
	}
	return s[chosen]
}

// run sends the entries of all databases until ctx ends.
func (s shards) run(ctx context.Context) error {
	errs := make([]error, len(s))
	var group sync.WaitGroup
	for i, o := range s {
		group.Go(func() { errs[i] = o.Run(ctx) })
	}
	group.Wait()
	return errors.Join(errs...)
}
