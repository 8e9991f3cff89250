package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// querier runs a statement and calls scan for each row, unless it is nil. Each statement is a separate
// transaction, unless the querier belongs to a transaction.
type querier interface {
	query(ctx context.Context, statement string, args []any, scan func(ledger.Scan) error) error
}

// pool is a querier that can also begin a transaction.
type pool interface {
	querier
	// readCommitted calls do in a transaction with the isolation level READ COMMITTED.
	readCommitted(ctx context.Context, do func(querier) error) error
}

// pgxPool is a pool of pgx.
type pgxPool struct {
	pgxQuerier
	pool *pgxpool.Pool
}

func newPgxPool(p *pgxpool.Pool) pgxPool { return pgxPool{pgxQuerier{p}, p} }

func (p pgxPool) readCommitted(ctx context.Context, do func(querier) error) error {
	return pgx.BeginTxFunc(ctx, p.pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error { return do(pgxQuerier{tx}) })
}

// pgxQuerier runs statements with pgx, in a pool or a transaction.
type pgxQuerier struct {
	db interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	}
}

func (q pgxQuerier) query(ctx context.Context, statement string, args []any, scan func(ledger.Scan) error) error {
	rows, err := q.db.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	return each(rows, scan)
}

// sqlPool is a pool of database/sql.
type sqlPool struct {
	sqlQuerier
	db *sql.DB
}

func newSQLPool(db *sql.DB) sqlPool { return sqlPool{sqlQuerier{db}, db} }

func (p sqlPool) readCommitted(ctx context.Context, do func(querier) error) error {
	tx, err := p.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	if err := do(sqlQuerier{tx}); err != nil {
		return err
	}
	return tx.Commit()
}

// sqlQuerier runs statements with database/sql and any driver, in a pool or a
// transaction.
type sqlQuerier struct {
	db interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (q sqlQuerier) query(ctx context.Context, statement string, args []any, scan func(ledger.Scan) error) error {
	rows, err := q.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	return each(rows, scan)
}

// each calls scan for each row, unless it is nil.
func each(rows interface {
	Next() bool
	Scan(into ...any) error
	Err() error
}, scan func(ledger.Scan) error) error {
	for rows.Next() {
		if scan == nil {
			continue
		}
		if err := scan(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
