// Package outbox makes sends of package messaging durable: they survive a crash, and each
// is carried out at most once. A program records what it wants to send in the same
// database transaction as the change that causes it. Workers deliver it, on one machine
// or on many, also after a crash.
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
//	_, err = o.EnqueueTx(ctx, tx, "order-4711-shipped", p)
//	…
//	err = tx.Commit()
//
// The stores are in the packages sqlite, sqlitefile and postgres. The separate module
// outboxriver delivers from jobs of River.
//
// # What is promised
//
// An entry is carried out at most once, and is never lost silently. Before a request is
// sent, its entry is claimed in a transaction that is committed and durable. The process
// then holds a lease on the entry: the time that [WithSendTimeout] gives it to send the
// request, and 15 s to record the outcome. An entry whose lease ends without an outcome
// becomes [Unclear]. It is not sent again until someone calls [Outbox.Resend];
// [Outbox.Dismiss] gives it up.
//
//	state      was it carried out?  is it sent again?
//	pending    no                   when it is due
//	sending    maybe                no; without an outcome, it becomes unclear
//	accepted   once                 no
//	rejected   no                   after Resend
//	unclear    maybe                after Resend, at your risk
//	dismissed  no or maybe          no
//
// For a key, at most once holds as long as its entry is kept; see [WithKeepSettled]. It
// does not hold for a database that loses commits, because it was restored from a backup
// or because a replica that was behind took over. Call [Outbox.Quarantine] on such a
// database before the first Run.
//
// # The gate
//
// Each Outbox has a gate, which is a circuit breaker. A failure that is not about one
// request closes it: no connection, a wrong API key (401), a rate limit (429), a failing
// service (5xx). While the gate is closed, only one entry at a time is claimed and sent,
// as a probe. The wait between probes grows from 0.5 s to 15 s. A Retry-After of the
// service is obeyed up to 5 minutes. The gate opens when the response to a probe shows
// that the service works. [Counts] and the log contain the reason why it is closed. A
// failed connection, a lost response and a 408 or 425 do not close the gate if another
// request was accepted in the meantime.
//
// What becomes of the entry does not depend on the gate. If the request was certainly not
// carried out, the entry stays pending: no connection, 401, 429, 501, 505. After any
// other 5xx, a 408, a 425 or a lost response, the request may have been carried out, so
// the entry is unclear. During an outage with such a 5xx, each probe makes one more entry
// unclear: one every 15 s once the waits have grown.
//
// A request is denied if the response is a 403 or a 404. That closes the gate too, unless
// other requests of the same operation are accepted: one in the 5 s before the first
// denial of an entry, and one between each denial and the next. Then the denial is about
// the entry. The entry waits 20 s after the first denial and 40 s after the second, and
// is rejected at the third. A service that denies every request rejects no entry.
package outbox
