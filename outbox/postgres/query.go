package postgres

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
)

// querier runs a statement and calls scan for each row. Each statement is a separate
// transaction, unless the querier belongs to a transaction.
type querier interface {
	query(ctx context.Context, statement string, args []any, scan func(scanFunc) error) error
}

// scanFunc is the Scan method of a row.
type scanFunc func(into ...any) error

// pgxQuerier runs statements with pgx, in a pool or a transaction.
type pgxQuerier struct {
	db interface {
		Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	}
}

func (q pgxQuerier) query(ctx context.Context, statement string, args []any, scan func(scanFunc) error) error {
	rows, err := q.db.Query(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows.Scan); err != nil {
			return err
		}
	}
	rows.Close()
	return rows.Err()
}

// sqlQuerier runs statements with database/sql and any driver, in a pool or a
// transaction.
type sqlQuerier struct {
	db interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (q sqlQuerier) query(ctx context.Context, statement string, args []any, scan func(scanFunc) error) error {
	rows, err := q.db.QueryContext(ctx, statement, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := scan(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}
