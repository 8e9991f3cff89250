package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"
)

// SQLTx is a transaction of database/sql or of a library on top of it.
type SQLTx = interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// CheckTransaction returns ErrNoTransaction for a tx that would commit the entry beside
// the caller's transaction or would change the statements of the ledger.
func CheckTransaction(tx SQLTx) error {
	value := reflect.ValueOf(tx)
	if !value.IsValid() || value.Kind() == reflect.Pointer && value.IsNil() {
		return fmt.Errorf("%w: nil", ErrNoTransaction)
	}
	of := value.Type()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if strings.HasPrefix(of.PkgPath(), "github.com/uptrace/bun") {
		return fmt.Errorf("%w that takes statements as they are: a %T formats them; pass its *sql.Tx, the field Tx", ErrNoTransaction, tx)
	}
	if _, ok := tx.(interface {
		Commit() error
		Rollback() error
	}); !ok {
		return fmt.Errorf("%w: %T", ErrNoTransaction, tx)
	}
	return nil
}
