package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// schema creates the tables. Rows are updated twice, and an update is cheaper if the page
// has room for it, so pages are filled to 80 %. Vacuum runs often, because the counts
// read only indexes of the pages that it has seen.
var schema = []string{
	`CREATE TABLE IF NOT EXISTS {schema}.outbox_meta (
		id         integer PRIMARY KEY CHECK (id = 1),
		version    integer NOT NULL,
		digest_key bytea NOT NULL
	)`,
	`CREATE TABLE IF NOT EXISTS {schema}.outbox_entry (
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
}

// upgrade makes the tables of version 2 of those of version 1, apart from indexes. None
// of it reads or writes the rows. In entries of version 1, due_since is later than any
// time, and not_before is used instead.
var upgrade = []string{
	`ALTER TABLE {schema}.outbox_entry ADD COLUMN IF NOT EXISTS not_after timestamptz,
		ADD COLUMN IF NOT EXISTS urgent boolean NOT NULL DEFAULT false,
		ADD COLUMN IF NOT EXISTS due_since timestamptz NOT NULL DEFAULT 'infinity',
		ADD COLUMN IF NOT EXISTS denied_at timestamptz`,
	`ALTER TABLE {schema}.outbox_entry SET (autovacuum_vacuum_insert_scale_factor = 0.02)`,
	`CREATE TABLE IF NOT EXISTS {schema}.outbox_pause (operation text PRIMARY KEY)`,
}

// indexes are all partial. They serve the claim, the end of NotAfter, the sweep, the
// purge, the lists of entries that need attention, and the counts, which read nothing
// else. The one by age is small, since pending entries are counted from it: entries of one
// transaction became due at the same time, and Postgres stores equal values once.
var indexes = []struct{ name, on string }{
	{"outbox_entry_next", "(operation, urgent, not_before, id) WHERE state = 0"},
	{"outbox_entry_age", "(least(due_since, not_before)) WHERE state = 0"},
	{"outbox_entry_not_after", "(not_after) WHERE state = 0 AND not_after IS NOT NULL"},
	{"outbox_entry_lease", "(lease_until) WHERE state = 1"},
	{"outbox_entry_carried", "(operation, settled_at) WHERE state = 2"},
	{"outbox_entry_rejected", "(id) WHERE state = 3"},
	{"outbox_entry_unclear", "(id) WHERE state = 4"},
	{"outbox_entry_dismissed", "(settled_at) WHERE state = 5"},
}

// oldIndexes are those of version 1 that others replace.
var oldIndexes = []string{"outbox_entry_due", "outbox_entry_accepted"}

// Migrate creates the tables outbox_entry, outbox_meta and outbox_pause if they are
// missing, in the current schema of db, the first one of its search path. [New] and
// [NewSQL] need the tables, but no permission to create any.
//
// Tables of an earlier version are upgraded. Stop the workers of that version first, and
// do not start them again. Other statements can go on: they wait for the upgrade for about
// 2 s at most. It needs a pool of at least 2 connections, and waits until transactions end
// that have used the tables. If it is interrupted, call it again.
func Migrate[DB *pgxpool.Pool | *sql.DB](ctx context.Context, db DB) error {
	var p pool
	switch db := any(db).(type) {
	case *pgxpool.Pool:
		if db != nil {
			p = newPgxPool(db)
		}
	case *sql.DB:
		if db != nil {
			p = newSQLPool(db)
		}
	}
	if p == nil {
		return errors.New("outbox: postgres: migrate: db must not be nil")
	}
	if err := migrate(ctx, &base{pool: p}); err != nil {
		return fmt.Errorf("outbox: postgres: migrate: %w", err)
	}
	return nil
}

func migrate(ctx context.Context, l *base) error {
	if err := l.findSchema(ctx); err != nil {
		return err
	}
	version, err := l.version(ctx)
	switch {
	case err != nil:
		return err
	case version == 0:
		return l.create(ctx)
	case version >= ledger.SchemaVersion:
		return checkVersion(version)
	case l.pool.size() == 1:
		return errors.New("the upgrade needs a pool of at least 2 connections")
	}
	for {
		done, err := l.upgrade(ctx)
		if done || err != nil {
			return err
		}
		if err := pause(ctx); err != nil { // another process upgrades the tables
			return err
		}
	}
}

// create uses one statement, which is a transaction, so that concurrent calls wait for
// each other.
func (l *base) create(ctx context.Context) error {
	statements := `DO $migrate$ BEGIN
		PERFORM pg_advisory_xact_lock(716543310, hashtext(current_schema()));`
	for _, statement := range slices.Concat(schema, upgrade) {
		statements += "\n" + statement + ";"
	}
	for _, index := range indexes {
		statements += fmt.Sprintf("\nCREATE INDEX IF NOT EXISTS %s ON {schema}.outbox_entry %s;", index.name, index.on)
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // which never fails
	statements += fmt.Sprintf("\nINSERT INTO {schema}.outbox_meta VALUES (1, %d, '\\x%s') ON CONFLICT DO NOTHING; END $migrate$",
		ledger.SchemaVersion, hex.EncodeToString(key))
	return l.execute(ctx, statements)
}

// execute runs a statement in which {schema} stands for the schema.
func (l *base) execute(ctx context.Context, statement string) error {
	return l.pool.query(ctx, strings.ReplaceAll(statement, "{schema}", l.schema), nil, nil)
}

// pause waits before something is tried again.
func pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(100*time.Millisecond + mathrand.N(200*time.Millisecond)):
		return nil
	}
}

// upgrade upgrades the tables of version 1. It returns false if another process does. A
// lock of the row with the version shows that; the lock of a session would not survive a
// connection pooler. Each step can be done again.
func (l *base) upgrade(ctx context.Context) (done bool, err error) {
	err = l.pool.readCommitted(ctx, func(lock querier) error {
		version := 0
		err := lock.query(ctx, `SELECT version FROM `+l.schema+`.outbox_meta FOR UPDATE SKIP LOCKED`, nil,
			func(row scanFunc) error { return row(&version) })
		if version == 0 || err != nil {
			return err
		}
		// This statement also replaces the one above, whose snapshot an index would wait for.
		if err := lock.query(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`, nil, nil); err != nil {
			return err
		}
		done = true
		if version >= ledger.SchemaVersion {
			return checkVersion(version)
		}
		if err := l.upgradeTables(ctx); err != nil {
			return err
		}
		for _, index := range indexes {
			if err := l.makeIndex(ctx, index.name, index.on); err != nil {
				return err
			}
		}
		for _, name := range oldIndexes {
			if err := l.execute(ctx, `DROP INDEX CONCURRENTLY IF EXISTS {schema}.`+name); err != nil {
				return err
			}
		}
		return lock.query(ctx, fmt.Sprintf(`UPDATE %s.outbox_meta SET version = %d`, l.schema, ledger.SchemaVersion), nil, nil)
	})
	return done, err
}

// upgradeTables waits at most 2 s for a lock before it tries again, because statements of
// others wait behind it.
func (l *base) upgradeTables(ctx context.Context) error {
	statements := `DO $migrate$ BEGIN PERFORM set_config('lock_timeout', '2s', true);`
	for _, statement := range upgrade {
		statements += "\n" + statement + ";"
	}
	statements += "\nEND $migrate$"
	for {
		err := l.execute(ctx, statements)
		if err == nil || !hasCode(err, "55P03", "lock timeout") {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
}

// makeIndex makes an index without locking out others. One that an interrupted call left
// behind is not valid, and is made again.
func (l *base) makeIndex(ctx context.Context, name, on string) error {
	valid, exists := false, false
	err := l.pool.query(ctx, `SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1::text)`, []any{l.schema + "." + name},
		func(row scanFunc) error {
			exists = true
			return row(&valid)
		})
	if valid || err != nil {
		return err
	}
	if exists {
		if err := l.execute(ctx, `DROP INDEX CONCURRENTLY {schema}.`+name); err != nil {
			return err
		}
	}
	return l.execute(ctx, fmt.Sprintf(`CREATE INDEX CONCURRENTLY %s ON {schema}.outbox_entry %s`, name, on))
}

func checkVersion(version int) error {
	switch {
	case version == 0:
		return errors.New("the tables are missing: call postgres.Migrate(ctx, db)")
	case version < ledger.SchemaVersion:
		return fmt.Errorf("the tables have schema version %d instead of %d: "+
			"stop the workers of the earlier version and call postgres.Migrate(ctx, db)",
			version, ledger.SchemaVersion)
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
	err := l.pool.query(ctx, `SELECT current_schema()::text, quote_ident(current_schema()), getdatabaseencoding()::text`, nil,
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
	l.schema, l.names, l.channel = *quoted, namesIn(*quoted), channelOf(*name)
	return nil
}

// version returns 0 if there are no tables.
func (l *base) version(ctx context.Context) (version int, err error) {
	var exists bool
	err = l.pool.query(ctx, `SELECT to_regclass($1::text) IS NOT NULL`, []any{l.schema + ".outbox_meta"}, func(row scanFunc) error {
		return row(&exists)
	})
	if err != nil || !exists {
		return 0, err
	}
	err = l.pool.query(ctx, `SELECT version, digest_key FROM `+l.schema+`.outbox_meta`, nil, func(row scanFunc) error {
		return row(&version, &l.key)
	})
	return version, err
}
