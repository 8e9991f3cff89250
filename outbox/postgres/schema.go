package postgres

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// steps make the tables, one version after the other. not_before is the epoch in an entry
// that waits for no time.
//
// Rows are updated twice, and an update is cheaper if the page has room for it, so pages
// are filled to 80 %. Vacuum runs often, because the counts read only indexes of the pages
// that it has seen.
//
// The indexes are all partial. They serve the claim, the end of NotAfter, Unclaim, the sweep,
// the purge, the lists of entries that need attention, and the counts, which read nothing
// else. The one by age is small, since pending entries are counted from it: entries of one
// transaction became due at the same time, and Postgres stores equal values once.
var steps = [][]string{{
	`CREATE TABLE {meta} (
		id         integer PRIMARY KEY CHECK (id = 1),
		version    integer NOT NULL,
		compatible integer NOT NULL,
		digest_key bytea NOT NULL
	)`,
	`CREATE TABLE {pause} (operation text PRIMARY KEY)`,
	`CREATE TABLE {entry} (
		id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
		key         text COLLATE "C" NOT NULL UNIQUE,
		digest      bytea NOT NULL,
		operation   text NOT NULL,
		body        bytea,
		sealed      boolean NOT NULL,
		priority    smallint NOT NULL,
		repeatable  boolean NOT NULL,
		state       smallint NOT NULL DEFAULT 0,
		token       bytea,
		attempts    integer NOT NULL DEFAULT 0,
		doubts      integer NOT NULL DEFAULT 0,
		denials     integer NOT NULL DEFAULT 0,
		denied_at   timestamptz,
		lane        smallint NOT NULL,
		not_before  timestamptz NOT NULL,
		not_after   timestamptz,
		due_since   timestamptz NOT NULL,
		claimed_at  timestamptz,
		lease_until timestamptz,
		settled_at  timestamptz,
		delivery    smallint NOT NULL DEFAULT 1,
		error       text NOT NULL DEFAULT '',
		created_at  timestamptz NOT NULL
	) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.02)`,
	`CREATE INDEX outbox_entry_next ON {entry} (operation, lane, not_before, id) WHERE state = 0`,
	`CREATE INDEX outbox_entry_age ON {entry} (due_since) WHERE state = 0`,
	`CREATE INDEX outbox_entry_not_after ON {entry} (not_after) WHERE state = 0 AND not_after IS NOT NULL`,
	`CREATE INDEX outbox_entry_doubted ON {entry} (token) WHERE state = 0 AND doubts > 0`,
	`CREATE INDEX outbox_entry_lease ON {entry} (lease_until) WHERE state = 1`,
	`CREATE INDEX outbox_entry_accepted ON {entry} (operation, settled_at) WHERE state = 2`,
	`CREATE INDEX outbox_entry_attention ON {entry} (state, id) WHERE state IN (3, 4)`,
	`CREATE INDEX outbox_entry_dismissed ON {entry} (settled_at) WHERE state = 5`,
}}

// compatible is the oldest version whose programs can open the tables after these steps. A program
// that has opened them before goes on, so a step that it must not survive renames the tables.
const compatible = 1

// Migrate creates the tables outbox_entry, outbox_meta and outbox_pause if they are
// missing, in the current schema of db, the first one of its search path. [New] and
// [NewSQL] need the tables, but no permission to create any. Any number of processes can
// call Migrate at the same time.
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
	l := &base{pool: p}
	if err := p.readCommitted(ctx, func(q querier) error { return l.migrate(ctx, q) }); err != nil {
		return fmt.Errorf("outbox: postgres: migrate: %w", err)
	}
	return nil
}

// migrate takes the steps that are missing, in a transaction. Concurrent calls wait for
// each other, for as long as it takes.
func (l *base) migrate(ctx context.Context, q querier) error {
	for _, statement := range []string{`SET LOCAL statement_timeout = 0`, `SET LOCAL lock_timeout = 0`,
		`SELECT pg_advisory_xact_lock(716543310, hashtext(current_schema()))`} {
		if err := q.query(ctx, statement, nil, nil); err != nil {
			return err
		}
	}
	if err := l.findSchema(ctx, q); err != nil {
		return err
	}
	version, err := l.version(ctx, q)
	if err != nil || version >= len(steps) {
		return err
	}
	for _, step := range steps[version:] {
		for _, statement := range step {
			if err := l.run(ctx, q, statement, nil, nil); err != nil {
				return err
			}
		}
	}
	key := make([]byte, 32)
	_, _ = rand.Read(key) // which never fails
	return l.run(ctx, q, `INSERT INTO {meta} VALUES (1, $1::integer, $2::integer, $3::bytea)
		ON CONFLICT (id) DO UPDATE SET version = $1::integer, compatible = $2::integer`, []any{len(steps), compatible, key}, nil)
}

// findSchema finds the schema of the store. Statements name it, so the search path of a
// transaction does not matter.
func (l *base) findSchema(ctx context.Context, q querier) error {
	var quoted *string
	var encoding string
	err := q.query(ctx, `SELECT quote_ident(current_schema()), getdatabaseencoding()::text`, nil,
		func(row ledger.Scan) error { return row(&quoted, &encoding) })
	switch {
	case err != nil:
	case encoding != "UTF8":
		err = fmt.Errorf("the encoding of the database must be UTF8, not %s", encoding)
	case quoted == nil:
		err = errors.New("no schema of the search path exists")
	}
	if err != nil {
		return err
	}
	l.schema, l.names = *quoted, namesIn(*quoted)
	return nil
}

// version returns the version of the tables and loads the key of the database. It returns 0
// if there are no tables. It fails if this program is too old for them.
func (l *base) version(ctx context.Context, q querier) (version int, err error) {
	var exists bool
	err = q.query(ctx, `SELECT to_regclass($1::text) IS NOT NULL`, []any{l.schema + ".outbox_meta"}, func(row ledger.Scan) error {
		return row(&exists)
	})
	if err != nil || !exists {
		return 0, err
	}
	var oldest int
	err = l.run(ctx, q, `SELECT version, compatible, digest_key FROM {meta}`, nil, func(row ledger.Scan) error {
		return row(&version, &oldest, &l.key)
	})
	if err == nil {
		err = ledger.CheckSchema(version, oldest, len(steps))
	}
	return version, err
}
