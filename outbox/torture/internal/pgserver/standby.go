package pgserver

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/messaging-go/messaging/outbox/torture/internal/process"
)

// Pair is a Postgres server with a synchronous standby on the same machine.
type Pair struct {
	// URL names both servers, so that a client finds the one that accepts writes.
	URL string

	primary, standby *Server
	failures         int
}

// StartPair starts both servers.
func StartPair(ctx context.Context) (*Pair, error) {
	primary, err := Start(ctx)
	if err != nil {
		return nil, err
	}
	p := &Pair{primary: primary}
	err = Execute(ctx, primary.URL, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`, `SELECT pg_reload_conf()`)
	if err == nil {
		err = p.attach(ctx, 0)
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	p.URL = fmt.Sprintf("postgres://postgres@%s,%s/postgres?sslmode=disable&target_session_attrs=read-write&connect_timeout=3",
		p.primary.address(), p.standby.address())
	return p, nil
}

// Close stops both servers.
func (p *Pair) Close() {
	for _, s := range []*Server{p.standby, p.primary} {
		if s != nil {
			s.Close()
		}
	}
}

// attach makes a standby of the primary and waits until commits wait for it.
func (p *Pair) attach(ctx context.Context, port int) (err error) {
	if p.standby, err = p.primary.copyTo(ctx, port, "-R"); err != nil {
		return err
	}
	return process.Until(ctx, "the standby", func() (bool, error) {
		synchronous := 0
		err := p.ask(ctx, `SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'`, &synchronous)
		return synchronous > 0, err
	})
}

// ask asks the primary for a number.
func (p *Pair) ask(ctx context.Context, query string, answer *int) error {
	conn, err := pgx.Connect(ctx, p.primary.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	return conn.QueryRow(ctx, query).Scan(answer)
}

// cutOff is how long the standby gets nothing more from the primary before it takes over.
const cutOff = 500 * time.Millisecond

// Fail cuts the standby off, so that it lacks whatever the primary commits without it. Then
// the primary is killed or, every second time, hangs and comes back for a second. The standby
// takes over, and a new one is attached to it.
func (p *Pair) Fail(ctx context.Context) error {
	hangs := p.failures%2 == 1
	p.failures++
	var sender int // which sends the log to the standby
	if err := p.ask(ctx, `SELECT pid FROM pg_stat_replication`, &sender); err != nil {
		return err
	}
	if err := syscall.Kill(sender, syscall.SIGSTOP); err != nil {
		return err
	}
	time.Sleep(cutOff)
	last := syscall.SIGKILL
	if hangs {
		last = syscall.SIGSTOP
	}
	if err := p.primary.signal(last); err != nil {
		return err
	}
	if err := p.standby.do("pg_ctl", "-D", p.standby.data(), "-w", "promote"); err != nil {
		return err
	}
	if hangs {
		time.Sleep(time.Second)
		if err := p.primary.signal(syscall.SIGCONT); err != nil {
			return err
		}
		time.Sleep(time.Second)
		if err := p.primary.signal(syscall.SIGKILL); err != nil {
			return err
		}
	}
	port := p.primary.port
	p.primary.Close()
	p.primary, p.standby = p.standby, nil
	return p.attach(ctx, port)
}
