// Package orms has tests that enqueue in the transactions of sqlx, Bun, GORM and ent. They
// are in a separate module, so that the outbox does not depend on these libraries.
package orms
