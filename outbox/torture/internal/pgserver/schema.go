package pgserver

import (
	"context"
	"crypto/rand"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// NewSchema creates an empty schema on a server, and returns the URL that uses it. The
// parameters are added to the URL, such as "pool_max_conns=8".
func NewSchema(ctx context.Context, server string, parameters ...string) (string, error) {
	schema := "torture_" + strings.ToLower(rand.Text())
	if err := Execute(ctx, server, "CREATE SCHEMA "+schema); err != nil {
		return "", err
	}
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	query := u.Query()
	query.Set("search_path", schema)
	for _, parameter := range parameters {
		name, value, _ := strings.Cut(parameter, "=")
		query.Set(name, value)
	}
	u.RawQuery = query.Encode()
	return u.String(), nil
}

// DropSchema removes what NewSchema created.
func DropSchema(ctx context.Context, schema string) error {
	config, err := pgxpool.ParseConfig(schema)
	if err != nil {
		return err
	}
	name, _, _ := strings.Cut(config.ConnConfig.RuntimeParams["search_path"], ",")
	return Execute(ctx, schema, "DROP SCHEMA "+pgx.Identifier{name}.Sanitize()+" CASCADE")
}

// Execute runs statements on a server, each in a transaction. The URL may contain settings
// of a pool.
func Execute(ctx context.Context, server string, statements ...string) error {
	config, err := pgxpool.ParseConfig(server)
	if err != nil {
		return err
	}
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}
