// Package outbox keeps requests of package messaging in a database until they are sent.
package outbox
