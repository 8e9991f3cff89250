package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// pair is a Postgres server with a synchronous standby on the same machine. Its URL names
// both, so that a client finds the one that accepts writes.
type pair struct {
	primary, standby *cluster
	url              string
}

func newPair(ctx context.Context) (*pair, error) {
	primary, err := newCluster(ctx)
	if err != nil {
		return nil, err
	}
	p := &pair{primary: primary}
	err = execute(ctx, primary.url, `ALTER SYSTEM SET synchronous_standby_names = 'standby'`, `SELECT pg_reload_conf()`)
	if err == nil {
		err = p.attach(ctx, 0)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	const settings = "sslmode=disable&target_session_attrs=read-write&connect_timeout=3"
	p.url = fmt.Sprintf("postgres://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?%s", p.primary.port, p.standby.port, settings)
	return p, nil
}

func (p *pair) close() {
	for _, c := range []*cluster{p.standby, p.primary} {
		if c != nil {
			_ = c.signal(syscall.SIGCONT)
			c.close()
		}
	}
}

// attach makes a standby of the primary and waits until commits wait for it.
func (p *pair) attach(ctx context.Context, port int) (err error) {
	if p.standby, err = p.primary.copy(ctx, port, "-R"); err != nil {
		return err
	}
	return until(ctx, patience, "the standby", func() (bool, error) {
		conn, err := pgx.Connect(ctx, p.primary.url)
		if err != nil {
			return false, err
		}
		defer func() { _ = conn.Close(ctx) }()
		synchronous := false
		err = conn.QueryRow(ctx, `SELECT count(*) > 0 FROM pg_stat_replication WHERE sync_state = 'sync'`).Scan(&synchronous)
		return synchronous, err
	})
}

// cutOff is how long the standby gets nothing more from the primary before it takes over.
const cutOff = 500 * time.Millisecond

// fail cuts the standby off, so that it lacks whatever the primary commits without it. Then
// the primary is killed, or hangs and comes back for a time, the standby takes over, and a
// new one is attached to it.
func (p *pair) fail(ctx context.Context, i int) error {
	if err := p.endReplication(ctx); err != nil {
		return err
	}
	time.Sleep(cutOff)
	last, hangs := syscall.SIGKILL, i%2 == 1
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
	p.primary.close()
	p.primary, p.standby = p.standby, nil
	return p.attach(ctx, port)
}

// endReplication stops the process that sends the log to the standby.
func (p *pair) endReplication(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, p.primary.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	var sender int
	if err := conn.QueryRow(ctx, `SELECT pid FROM pg_stat_replication`).Scan(&sender); err != nil {
		return err
	}
	return syscall.Kill(sender, syscall.SIGSTOP)
}

// signal sends a signal to every process of the server.
func (c *cluster) signal(s syscall.Signal) error {
	first, err := c.first()
	if err != nil {
		return err
	}
	pids, err := children(first)
	if err != nil {
		return err
	}
	for _, pid := range append([]int{first}, pids...) {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			return err
		}
	}
	return nil
}

// children returns the processes that a process has started.
func children(parent int) (pids []int, err error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(fields[0])
			if err != nil {
				return nil, err
			}
			pids = append(pids, pid)
		}
	}
	return pids, err
}
