// Package outbox makes sends of package messaging durable. A program changes its data and
// records the requests to send in one database transaction. A recorded request is called
// an entry. Workers on one or more machines then send the entries, even after a crash.
// Each entry is carried out at most once, unless you allow more by [Outbox.Resend] or by
// Repeatable of its [Item], and none is ever silently lost.
//
//	store, err := sqlite.New(ctx, db) // your own *sql.DB
//	…
//	o, err := outbox.New(store, client)
//	…
//	go o.Run(ctx)
//
//	tx, err := db.BeginTx(ctx, nil)
//	… // ship the order, in tx
//	p, err := messaging.EventTriggerParams{…}.Prepare()
//	_, err = o.EnqueueTx(ctx, tx, outbox.Item{Key: "order-4711-shipped", Prepared: p})
//	…
//	err = tx.Commit()
//
// The stores are in the packages sqlite, sqlitefile and postgres. The separate module
// outboxriver delivers from jobs of River.
//
// # The guarantee
//
// Before a process sends an entry, it claims the entry in a transaction that is committed
// and durable. The process then holds a lease on the entry: it has the time of
// [WithSendTimeout] to send the request, plus 15 s to record the outcome. If the lease
// ends before an outcome is recorded, the entry becomes [Unclear]. An unclear entry is not
// sent again until someone calls [Outbox.Resend]. [Outbox.Dismiss] gives the entry up. An entry
// that is Repeatable is sent again by itself, and becomes unclear after five unknown outcomes.
//
//	state      was it carried out?  is it sent again?
//	pending    no *                 when it is due, but not after NotAfter
//	sending    maybe                no; without an outcome, it becomes unclear
//	accepted   once **              no
//	rejected   no *                 after Resend
//	unclear    maybe                after Resend, at your risk
//	dismissed  no *                 no
//
//	*   maybe, if it was ever unclear, or repeated after an unknown outcome
//	**  at least once, if it was ever unclear or repeated
//
// The Delivery of an entry is unknown where the second column says maybe. [messaging.NextStepOf]
// is for the errors of a client, not for those of this package.
//
// A key is sent at most once as long as its entry is kept; see [WithKeepSettled]. The
// guarantee does not hold if the database loses commits. That can happen after a restore
// from a backup, or after a failover to a replica that was behind. In both cases, call
// [Outbox.Quarantine] before the first Run.
//
// # The breaker
//
// Each operation has a circuit breaker. It is closed while all is well. Its window is the
// number of requests that may be in flight: it begins with 1, each success adds one, and
// each failure halves it. At 0 the breaker is open. A wrong API key (401) or a rate limit
// (429) opens the breakers of all operations.
//
// While the breaker is open, one entry at a time is sent, as a probe, until the service works
// again. The wait between probes grows from 0.5 s to 15 s, and is at least the Retry-After
// of the service, up to 5 minutes. [Counts] and the log contain the reason.
//
// The file OPERATIONS.md lists which response leads to which state.
package outbox
