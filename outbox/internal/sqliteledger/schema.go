package sqliteledger

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// schema creates the tables. Times are milliseconds since 1970. The partial indexes serve
// the claim, the sweep, the purge, the lists of entries that need attention, and the
// counts, which read nothing else.
const schema = `
CREATE TABLE outbox_meta (
	id         INTEGER PRIMARY KEY CHECK (id = 1),
	version    INTEGER NOT NULL,
	digest_key BLOB NOT NULL
);
CREATE TABLE outbox_entry (
	id          INTEGER PRIMARY KEY AUTOINCREMENT,
	key         TEXT NOT NULL UNIQUE,
	digest      BLOB NOT NULL,
	operation   TEXT NOT NULL,
	body        BLOB,
	sealed      INTEGER NOT NULL,
	state       INTEGER NOT NULL DEFAULT 0,
	token       BLOB,
	attempts    INTEGER NOT NULL DEFAULT 0,
	refusals    INTEGER NOT NULL DEFAULT 0,
	owner       TEXT NOT NULL DEFAULT '',
	not_before  INTEGER NOT NULL,
	claimed_at  INTEGER,
	lease_until INTEGER,
	settled_at  INTEGER,
	delivery    INTEGER NOT NULL DEFAULT 1,
	error       TEXT NOT NULL DEFAULT '',
	created_at  INTEGER NOT NULL
);
CREATE INDEX outbox_entry_lease ON outbox_entry (lease_until) WHERE state = 1;
CREATE INDEX outbox_entry_rejected ON outbox_entry (id) WHERE state = 3;
CREATE INDEX outbox_entry_unclear ON outbox_entry (id) WHERE state = 4;
CREATE INDEX outbox_entry_dismissed ON outbox_entry (settled_at) WHERE state = 5;
`

// upgrade makes version 2 of version 1. In entries of version 1, due_since is later than
// any time, and not_before is used instead.
const upgrade = `
ALTER TABLE outbox_entry ADD COLUMN not_after INTEGER;
ALTER TABLE outbox_entry ADD COLUMN urgent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox_entry ADD COLUMN due_since INTEGER NOT NULL DEFAULT 9223372036854775807;
ALTER TABLE outbox_entry ADD COLUMN denied_at INTEGER;
CREATE TABLE outbox_pause (operation TEXT PRIMARY KEY);
DROP INDEX IF EXISTS outbox_entry_due;
CREATE INDEX outbox_entry_next ON outbox_entry (operation, urgent, not_before, id) WHERE state = 0;
CREATE INDEX outbox_entry_age ON outbox_entry (min(due_since, not_before)) WHERE state = 0;
CREATE INDEX outbox_entry_not_after ON outbox_entry (not_after) WHERE state = 0 AND not_after IS NOT NULL;
DROP INDEX IF EXISTS outbox_entry_accepted;
CREATE INDEX outbox_entry_carried ON outbox_entry (operation, settled_at) WHERE state = 2;
`

// migrate creates the tables if they are missing, upgrades them if they are old, and
// loads the key of the database.
func (l *Ledger) migrate(ctx context.Context) error {
	return l.update(ctx, func(ctx context.Context, conn *writer) error {
		version, err := schemaVersion(ctx, conn.Conn)
		switch {
		case err != nil:
			return err
		case version > ledger.SchemaVersion:
			return fmt.Errorf("%w (schema version %d, but only %d is supported)", ledger.ErrNewerSchema, version, ledger.SchemaVersion)
		case version == 0:
			if _, err := conn.ExecContext(ctx, schema+upgrade); err != nil {
				return err
			}
			key := make([]byte, 32)
			_, _ = rand.Read(key) // which never fails
			_, err := conn.ExecContext(ctx, `INSERT INTO outbox_meta (id, version, digest_key) VALUES (1, ?, ?)`, ledger.SchemaVersion, key)
			if err != nil {
				return err
			}
		case version < ledger.SchemaVersion:
			if _, err := conn.ExecContext(ctx, upgrade+fmt.Sprintf(`UPDATE outbox_meta SET version = %d`, ledger.SchemaVersion)); err != nil {
				return fmt.Errorf("upgrade the tables: %w", err)
			}
		}
		return conn.QueryRowContext(ctx, `SELECT digest_key FROM outbox_meta`).Scan(&l.key)
	})
}

// checkMemory fails if each connection of the pool opens its own database in memory.
func (l *Ledger) checkMemory(ctx context.Context) error {
	if l.write.Stats().MaxOpenConnections == 1 {
		return nil
	}
	return l.withConn(ctx, func(conn *sql.Conn) error {
		var file sql.NullString
		err := conn.QueryRowContext(ctx, `SELECT file FROM pragma_database_list WHERE name = 'main'`).Scan(&file)
		if err != nil || file.String != "" {
			return err
		}
		return l.withConn(ctx, func(second *sql.Conn) error {
			if version, err := schemaVersion(ctx, second); version != 0 || err != nil { // the cache is shared
				return err
			}
			return errors.New("each connection would open its own in-memory database: use a file, or db.SetMaxOpenConns(1)")
		})
	})
}

// schemaVersion returns 0 if there are no tables.
func schemaVersion(ctx context.Context, conn *sql.Conn) (version int, err error) {
	var exists bool
	err = conn.QueryRowContext(ctx, `SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'outbox_meta'`).Scan(&exists)
	if err != nil || !exists {
		return 0, err
	}
	err = conn.QueryRowContext(ctx, `SELECT version FROM outbox_meta`).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		err = nil
	}
	return version, err
}
