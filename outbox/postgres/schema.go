package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// schema creates the tables. Rows are updated twice, and an update is cheaper if the page
// has room for it, so pages are filled to 80 %. The partial indexes serve the claim, the
// sweep, the purge, the lists of entries that need attention, and the counts.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS %[1]s.outbox_meta (
		id         integer PRIMARY KEY CHECK (id = 1),
		version    integer NOT NULL,
		digest_key bytea NOT NULL
	)`,
	`CREATE TABLE IF NOT EXISTS %[1]s.outbox_entry (
		id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		key         text COLLATE "C" NOT NULL UNIQUE,
		digest      bytea NOT NULL,
		operation   text NOT NULL,
		body        bytea,
		sealed      boolean NOT NULL,
		state       smallint NOT NULL DEFAULT 0,
		token       bytea,
		attempts    integer NOT NULL DEFAULT 0,
		refusals    integer NOT NULL DEFAULT 0,
		owner       text NOT NULL DEFAULT '',
		not_before  timestamptz NOT NULL,
		claimed_at  timestamptz,
		lease_until timestamptz,
		settled_at  timestamptz,
		delivery    smallint NOT NULL DEFAULT 1,
		error       text NOT NULL DEFAULT '',
		created_at  timestamptz NOT NULL
	) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02)`,
	`CREATE INDEX IF NOT EXISTS outbox_entry_due ON %[1]s.outbox_entry (not_before, id) WHERE state = 0`,
	`CREATE INDEX IF NOT EXISTS outbox_entry_lease ON %[1]s.outbox_entry (lease_until) WHERE state = 1`,
	`CREATE INDEX IF NOT EXISTS outbox_entry_accepted ON %[1]s.outbox_entry (settled_at) WHERE state = 2`,
	`CREATE INDEX IF NOT EXISTS outbox_entry_rejected ON %[1]s.outbox_entry (id) WHERE state = 3`,
	`CREATE INDEX IF NOT EXISTS outbox_entry_unclear ON %[1]s.outbox_entry (id) WHERE state = 4`,
	`CREATE INDEX IF NOT EXISTS outbox_entry_dismissed ON %[1]s.outbox_entry (settled_at) WHERE state = 5`,
}

// Migrate creates the tables outbox_entry and outbox_meta if they are missing. It creates
// them in the current schema of db, the first one of its search path. [New] and [NewSQL]
// need the tables, but no permission to create any.
func Migrate[DB *pgxpool.Pool | *sql.DB](ctx context.Context, db DB) error {
	var q querier
	switch db := any(db).(type) {
	case *pgxpool.Pool:
		if db != nil {
			q = pgxQuerier{db}
		}
	case *sql.DB:
		if db != nil {
			q = sqlQuerier{db}
		}
	}
	if q == nil {
		return errors.New("outbox: postgres: migrate: db must not be nil")
	}
	if err := migrate(ctx, q); err != nil {
		return fmt.Errorf("outbox: postgres: migrate: %w", err)
	}
	return nil
}

// migrate uses one statement, which is a transaction, so that concurrent calls wait for
// each other.
func migrate(ctx context.Context, q querier) error {
	l := &base{q: q}
	if err := l.findSchema(ctx); err != nil {
		return err
	}
	version, err := l.version(ctx)
	if err != nil {
		return err
	}
	if version != 0 {
		return checkVersion(version)
	}
	statements := `DO $migrate$ BEGIN
		PERFORM pg_advisory_xact_lock(716543310, hashtext(current_schema()));`
	for _, statement := range schema {
		statements += "\n" + fmt.Sprintf(statement, l.schema) + ";"
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // which never fails
	statements += fmt.Sprintf("\nINSERT INTO %s.outbox_meta VALUES (1, %d, '\\x%s') ON CONFLICT DO NOTHING; END $migrate$",
		l.schema, ledger.SchemaVersion, hex.EncodeToString(key))
	return q.query(ctx, statements, nil, nil)
}

func checkVersion(version int) error {
	switch {
	case version == 0:
		return errors.New("the tables are missing: call postgres.Migrate(ctx, db)")
	case version > ledger.SchemaVersion:
		return fmt.Errorf("%w (schema version %d, but only %d is supported)", ledger.ErrNewerSchema, version, ledger.SchemaVersion)
	}
	return nil
}

// findSchema finds the schema of the store. Statements name it, so the search path of a
// transaction does not matter.
func (l *base) findSchema(ctx context.Context) error {
	var name, quoted *string
	var encoding string
	err := l.q.query(ctx, `SELECT current_schema()::text, quote_ident(current_schema()), getdatabaseencoding()::text`, nil,
		func(row scanFunc) error { return row(&name, &quoted, &encoding) })
	switch {
	case err != nil:
	case encoding != "UTF8":
		err = fmt.Errorf("the encoding of the database must be UTF8, not %s", encoding)
	case name == nil:
		err = errors.New("no schema of the search path exists")
	}
	if err != nil {
		return err
	}
	l.schema, l.channel = *quoted, channelOf(*name)
	return nil
}

// version returns 0 if there are no tables.
func (l *base) version(ctx context.Context) (version int, err error) {
	var exists bool
	err = l.q.query(ctx, `SELECT to_regclass($1::text) IS NOT NULL`, []any{l.schema + ".outbox_meta"}, func(row scanFunc) error {
		return row(&exists)
	})
	if err != nil || !exists {
		return 0, err
	}
	err = l.q.query(ctx, `SELECT version, digest_key FROM `+l.schema+`.outbox_meta`, nil, func(row scanFunc) error {
		return row(&version, &l.key)
	})
	return version, err
}
