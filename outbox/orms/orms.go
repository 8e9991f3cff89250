// Package orms has tests that enqueue in the transactions of sqlx, Bun, GORM and ent. They
// are in a module of their own, so that nobody inherits these libraries from the outbox.
package orms
