// Package outbox sends requests of package messaging that survive a crash, each at most
// once. A program writes down what it wants to send, in the same database transaction as
// the change that it belongs to. Workers deliver it, now or after a crash, on one machine
// or on many.
//
//	store, err := sqlite.New(ctx, db) // the program's own *sql.DB
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
// The packages sqlite, sqlitefile and postgres have the stores. Package outboxriver, a
// module of its own, delivers from jobs of River.
//
// # What is promised
//
// An entry is carried out at most once, and is never lost without a trace. Before a
// request is sent, its entry is claimed in a transaction that is committed and durable.
// An entry whose claim ends without an outcome is [Unclear], never sent again by itself:
// somebody decides, with [Outbox.Resend] or [Outbox.Dismiss].
//
//	state      the request was carried out  it is sent again
//	pending    no                           when it is due
//	sending    maybe                        no; it becomes unclear if its process is gone
//	accepted   once                         no
//	rejected   no                           after Resend
//	unclear    maybe                        after Resend, at your risk
//	dismissed  as before                    no
//
// At most once holds for a key for as long as its entry is kept; see [KeepSettled]. It
// does not hold for a database that forgets what it has committed: one restored from a
// backup, a replica that was behind when it took over. Call [Outbox.Quarantine] there
// before the first Run.
//
// # The gate
//
// A failure that is not about the request closes the gate: no connection, a wrong API key
// (401), a rate limit (429), a failing service (5xx). Nothing more is claimed then but one
// probe at a time, with growing waits from 0.5 s to 15 s, or after the Retry-After of the
// service, up to 5 minutes. [Counts] and the log say why. A connection that fails, a lost
// response and a 408 or 425 are no reason if another request, sent meanwhile, is accepted.
//
// The gate says nothing about the entry. An entry whose request was certainly not carried
// out stays pending: no connection, 401, 429, 501, 505. After any other 5xx, a 408, a 425
// or a lost response it may have been carried out, and the entry is unclear. So is the
// entry of each probe during an outage with 5xx: one every 15 s when the waits are longest.
//
// 403 and 404 close the gate too, unless requests of the same operation are accepted
// meanwhile: within 5 s before the first refusal of an entry, and between that and the next
// ones. Then they are about the entry. It waits 20 s and 40 s, and is rejected the third
// time. A refusal of everything rejects nothing.
package outbox
