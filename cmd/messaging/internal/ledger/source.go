package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// Source is what the first import writes into an outbox: the service of its entries, and where their keys come from.
type Source struct {
	// Service is the host of the service and, for a sandbox, its start.
	Service string
	// Kind is how careful a command has to be with the service.
	Kind string
	// KeyColumn is the column of the keys, or "" if a key is the hash of its request.
	KeyColumn string
}

const sourceTable = "messaging_command_source"

// Source returns what the first import has written. ok is false for an outbox that no import has filled: it belongs to
// another program.
func (l *Ledger) Source(ctx context.Context) (s Source, ok bool, err error) {
	exists, err := l.hasTable(ctx, sourceTable)
	if err == nil && exists {
		err = l.db.QueryRowContext(ctx, `SELECT service, kind, key_column FROM `+sourceTable).Scan(&s.Service, &s.Kind, &s.KeyColumn)
		ok = err == nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return s, false, fmt.Errorf("outbox: the service of its entries: %w", err)
	}
	return s, ok, nil
}

// Claim writes the source of an outbox that has none. Another import may have been faster.
func (l *Ledger) Claim(ctx context.Context, s Source) error {
	values := "?, ?, ?"
	if !l.isFile {
		values = "$1, $2, $3"
	}
	_, err := l.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+sourceTable+
		` (id INTEGER PRIMARY KEY, service TEXT NOT NULL, kind TEXT NOT NULL, key_column TEXT NOT NULL)`)
	if err == nil {
		_, err = l.db.ExecContext(ctx, `INSERT INTO `+sourceTable+` (id, service, kind, key_column) VALUES (1, `+values+
			`) ON CONFLICT DO NOTHING`, s.Service, s.Kind, s.KeyColumn)
	}
	if err != nil {
		return fmt.Errorf("outbox: write the service of its entries: %w", err)
	}
	return nil
}
