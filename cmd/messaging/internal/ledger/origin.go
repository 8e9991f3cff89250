package ledger

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
)

// Service is the service that the entries of a ledger were planned for.
type Service struct{ BaseURL, Kind, Identity string }

// Origin is what the first import records about a ledger.
type Origin struct {
	Service
	Place
	// KeyColumn names the column of the keys. It is "" if they stand for the content.
	KeyColumn string
	// Plan is the digest of the rows of the first import.
	Plan string
	// Salt and KeyHash identify the API key of the service; see HashKey.
	Salt, KeyHash string
	// Generation is 0 for a new ledger; see Ledger.Advance.
	Generation int64
}

// NewSalt returns a random salt for HashKey.
func NewSalt() string { return rand.Text() }

// HashKey identifies an API key within one ledger. The key cannot be found from it, nor can
// the ledgers of one key.
func HashKey(salt, key string) string {
	hash := hmac.New(sha256.New, []byte(salt))
	_, _ = hash.Write([]byte(key)) // a hash does not fail
	return hex.EncodeToString(hash.Sum(nil)[:16])
}

const (
	table   = "messaging_command_origin"
	columns = "base_url, kind, identity, host, path, file, key_column, plan, salt, key_hash"
)

// dialect is what differs between the databases.
type dialect struct{ exists, insert, move, advance string }

var (
	sqliteDialect = dialect{
		exists:  `SELECT count(*) FROM sqlite_master WHERE name = '` + table + `'`,
		insert:  `INSERT INTO ` + table + ` (id, ` + columns + `) VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		move:    `UPDATE ` + table + ` SET host = ?, path = ?, file = ?, key_hash = ?`,
		advance: `UPDATE ` + table + ` SET generation = max(generation, ?) + 1 RETURNING generation`,
	}
	postgresDialect = dialect{
		exists:  `SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = '` + table + `'`,
		insert:  `INSERT INTO ` + table + ` (id, ` + columns + `) VALUES (1, $1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT DO NOTHING`,
		move:    `UPDATE ` + table + ` SET host = $1, path = $2, file = $3, key_hash = $4`,
		advance: `UPDATE ` + table + ` SET generation = greatest(generation, $1) + 1 RETURNING generation`,
	}
)

// Origin returns what the first import recorded. ok is false if no command has imported
// anything into the ledger: then it belongs to another program.
func (l *Ledger) Origin(ctx context.Context) (o Origin, ok bool, err error) {
	conn, err := l.rereading(ctx)
	if err != nil {
		return Origin{}, false, err
	}
	defer conn.Close()
	var tables int
	if err := conn.QueryRowContext(ctx, l.format.exists).Scan(&tables); err != nil || tables == 0 {
		return Origin{}, false, wrap(err)
	}
	err = conn.QueryRowContext(ctx, `SELECT `+columns+`, generation FROM `+table).Scan(&o.BaseURL, &o.Kind, &o.Identity, &o.Host, &o.Path,
		&o.File, &o.KeyColumn, &o.Plan, &o.Salt, &o.KeyHash, &o.Generation)
	if errors.Is(err, sql.ErrNoRows) {
		return Origin{}, false, nil
	}
	return o, err == nil, wrap(err)
}

// Claim records the origin of a ledger that has none.
func (l *Ledger) Claim(ctx context.Context, o Origin) error {
	_, err := l.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS `+table+` (id INTEGER PRIMARY KEY, base_url TEXT NOT NULL, `+
		`kind TEXT NOT NULL, identity TEXT NOT NULL, host TEXT NOT NULL, path TEXT NOT NULL, file TEXT NOT NULL, key_column TEXT NOT NULL, `+
		`plan TEXT NOT NULL, salt TEXT NOT NULL, key_hash TEXT NOT NULL, generation BIGINT NOT NULL DEFAULT 0)`)
	if err == nil {
		_, err = l.db.ExecContext(ctx, l.format.insert, o.BaseURL, o.Kind, o.Identity, o.Host, o.Path, o.File, o.KeyColumn, o.Plan, o.Salt,
			o.KeyHash)
	}
	return wrap(err)
}

// Move records another place and another API key.
func (l *Ledger) Move(ctx context.Context, to Place, keyHash string) error {
	_, err := l.db.ExecContext(ctx, l.format.move, to.Host, to.Path, to.File, keyHash)
	return wrap(err)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("outbox: where its entries come from: %w", err)
}
