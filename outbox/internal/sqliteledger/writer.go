package sqliteledger

import (
	"context"
	"database/sql"

	"github.com/messaging-go/messaging/outbox/internal/ledger"
)

// writer is a connection for writing. In a separate database there is one, which is kept
// with its prepared statements.
type writer struct {
	*sql.Conn // nil if it is to be opened
	prepared  map[string]*sql.Stmt
}

// takeWriter returns a writer that nobody else uses. putWriter has to be called even after
// an error.
func (l *Ledger) takeWriter(ctx context.Context) (w *writer, err error) {
	w = new(writer)
	if l.kept != nil {
		select {
		case w = <-l.kept:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	switch {
	case l.closed.Load():
		err = ledger.ErrClosed
	case w.Conn == nil:
		w.Conn, err = l.write.Conn(ctx) // which runs the settings of a data source name
		if err == nil && l.kept != nil {
			_, err = configure(ctx, w.Conn) // for as long as it is kept
		}
	}
	return w, err
}

// putWriter takes a writer back. It is opened anew after an error.
func (l *Ledger) putWriter(w *writer, err error) {
	if w == nil {
		return
	}
	if l.kept == nil || err != nil {
		w.close()
	}
	if l.kept != nil {
		l.kept <- w
	}
}

// close returns the connection to its pool.
func (w *writer) close() {
	for _, statement := range w.prepared {
		_ = statement.Close()
	}
	if w.Conn != nil {
		_ = w.Conn.Close()
	}
	*w = writer{}
}

// prepare parses statements, so that it does not take time while the write lock is held.
func (w *writer) prepare(ctx context.Context, statements []string) error {
	for _, text := range statements {
		if w.prepared[text] != nil {
			continue
		}
		statement, err := w.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		if w.prepared == nil {
			w.prepared = make(map[string]*sql.Stmt)
		}
		w.prepared[text] = statement
	}
	return nil
}

// QueryContext implements ledger.SQLTx.
func (w *writer) QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
	if prepared := w.prepared[statement]; prepared != nil {
		return prepared.QueryContext(ctx, args...)
	}
	return w.Conn.QueryContext(ctx, statement, args...)
}

// ExecContext implements ledger.SQLTx.
func (w *writer) ExecContext(ctx context.Context, statement string, args ...any) (sql.Result, error) {
	if prepared := w.prepared[statement]; prepared != nil {
		return prepared.ExecContext(ctx, args...)
	}
	return w.Conn.ExecContext(ctx, statement, args...)
}
