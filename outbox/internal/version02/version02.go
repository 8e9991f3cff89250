// Package version02 has databases that version 0.2 of the outbox made and left with an
// entry in each state, for tests of the upgrade. The key of an entry begins with its
// state, and its payload contains the key.
package version02

import (
	_ "embed"
	"strings"
)

// SQLite is the file of a SQLite database.
//
//go:embed states.sqlite
var SQLite []byte

//go:embed states.sql
var dump string

// Postgres returns the statements that make the tables in a schema, which must exist.
func Postgres(schema string) string { return strings.ReplaceAll(dump, "{schema}", schema) }

// Alive is the key of an entry whose process is alive, once its lease is in the future.
const Alive = "sending, process alive"

// Entries is how many entries there are.
const Entries = 12
