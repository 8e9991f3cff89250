package sqliteledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// steps make the tables, one version after the other. Times are milliseconds since 1970;
// not_before is 0 in an entry that waits for no time. The partial indexes serve the claim,
// the end of NotAfter, Unclaim, the sweep, the purge, the lists of entries that need attention, and
// the counts, which read nothing else.
var steps = []string{`
CREATE TABLE outbox_meta (
	id         INTEGER PRIMARY KEY CHECK (id = 1),
	version    INTEGER NOT NULL,
	compatible INTEGER NOT NULL,
	digest_key BLOB NOT NULL
);
CREATE TABLE outbox_pause (operation TEXT PRIMARY KEY);
CREATE TABLE outbox_entry (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	key         TEXT NOT NULL UNIQUE,
	digest      BLOB NOT NULL,
	operation   TEXT NOT NULL,
	body        BLOB,
	sealed      INTEGER NOT NULL,
	priority    INTEGER NOT NULL,
	repeatable  INTEGER NOT NULL,
	state       INTEGER NOT NULL DEFAULT 0,
	token       BLOB,
	attempts    INTEGER NOT NULL DEFAULT 0,
	doubts      INTEGER NOT NULL DEFAULT 0,
	denials     INTEGER NOT NULL DEFAULT 0,
	denied_at   INTEGER,
	lane        INTEGER AS (CASE WHEN denials > 0 THEN 2 ELSE priority END),
	not_before  INTEGER NOT NULL,
	not_after   INTEGER,
	due_since   INTEGER NOT NULL,
	claimed_at  INTEGER,
	lease_until INTEGER,
	settled_at  INTEGER,
	delivery    INTEGER NOT NULL DEFAULT 1,
	error       TEXT NOT NULL DEFAULT '',
	created_at  INTEGER NOT NULL
);
CREATE INDEX outbox_entry_next ON outbox_entry (operation, lane, not_before, id) WHERE state = 0;
CREATE INDEX outbox_entry_age ON outbox_entry (due_since) WHERE state = 0;
CREATE INDEX outbox_entry_not_after ON outbox_entry (not_after) WHERE state = 0 AND not_after IS NOT NULL;
CREATE INDEX outbox_entry_doubted ON outbox_entry (token) WHERE state = 0 AND doubts > 0;
CREATE INDEX outbox_entry_lease ON outbox_entry (lease_until) WHERE state = 1;
CREATE INDEX outbox_entry_accepted ON outbox_entry (operation, settled_at) WHERE state = 2;
CREATE INDEX outbox_entry_rejected ON outbox_entry (id) WHERE state = 3;
CREATE INDEX outbox_entry_unclear ON outbox_entry (id) WHERE state = 4;
CREATE INDEX outbox_entry_dismissed ON outbox_entry (settled_at) WHERE state = 5;
`}

// compatible is the oldest version whose programs can open the tables after these steps. A program
// that has opened them before goes on, so a step that it must not survive renames the tables.
const compatible = 1

// migrate takes the steps that are missing, and loads the key of the database. Current tables
// are only read, so that opening an outbox does not wait until another process has written.
func (l *Ledger) migrate(ctx context.Context) error {
	version := 0
	err := l.withConn(ctx, func(conn *sql.Conn) (err error) {
		version, l.key, err = schema(ctx, conn)
		return err
	})
	if err != nil || version >= len(steps) {
		return err
	}
	return l.update(ctx, func(ctx context.Context, conn *writer) error {
		version, existing, err := schema(ctx, conn.Conn)
		if err != nil || version >= len(steps) { // another process was faster
			l.key = existing
			return err
		}
		for _, step := range steps[version:] {
			if _, err := conn.ExecContext(ctx, step); err != nil {
				return err
			}
		}
		key := make([]byte, 32)
		_, _ = rand.Read(key) // which never fails
		return conn.QueryRowContext(ctx, `INSERT INTO outbox_meta (id, version, compatible, digest_key) VALUES (1, ?1, ?2, ?3)
			ON CONFLICT DO UPDATE SET version = ?1, compatible = ?2 RETURNING digest_key`,
			len(steps), compatible, key).Scan(&l.key)
	})
}

// checkMemory fails if each connection of the pool opens its own database in memory.
func (l *Ledger) checkMemory(ctx context.Context) error {
	if l.file.path != "" || l.write.Stats().MaxOpenConnections == 1 {
		return nil
	}
	return l.withConn(ctx, func(*sql.Conn) error {
		return l.withConn(ctx, func(second *sql.Conn) error {
			if version, _, err := schema(ctx, second); version != 0 || err != nil { // the cache is shared
				return err
			}
			return errors.New("each connection would open its own in-memory database: use a file, or db.SetMaxOpenConns(1)")
		})
	})
}

// schema returns the version of the tables and the key of the database, or 0 if there are no
// tables.
func schema(ctx context.Context, conn *sql.Conn) (version int, key []byte, err error) {
	var exists bool
	err = conn.QueryRowContext(ctx, `SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'outbox_meta'`).Scan(&exists)
	if err != nil || !exists {
		return 0, nil, err
	}
	var oldest int
	err = conn.QueryRowContext(ctx, `SELECT version, compatible, digest_key FROM outbox_meta`).Scan(&version, &oldest, &key)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil, nil
	}
	if err == nil {
		err = ledger.CheckSchema(version, oldest, len(steps))
	}
	return version, key, err
}
