package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a child process of this program.
type process struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
	wait   func() error
}

// start starts this program with other arguments, and waits for its first line.
func start(args ...string) (*process, string, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}
	p := &process{cmd: exec.Command(self, args...)}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, "", err
	}
	p.wait = sync.OnceValue(p.cmd.Wait)
	p.lines = bufio.NewScanner(out)
	line, err := p.line()
	if err != nil {
		return nil, "", errors.Join(err, p.wait())
	}
	return p, line, nil
}

// line returns the next line that the process prints.
func (p *process) line() (string, error) {
	if !p.lines.Scan() {
		return "", fmt.Errorf("the process ended: %s", lastLine(p.stderr.String()))
	}
	return p.lines.Text(), nil
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// measured waits for what a worker measured.
func (p *process) measured() (m measured, err error) {
	line, err := p.line()
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		return m, err
	}
	return m, p.wait()
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// kill ends the process as a crash does.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	_ = p.wait()
}

// stop asks the process to end, and waits.
func (p *process) stop() error {
	p.signal(syscall.SIGTERM)
	return p.ended()
}

// ended waits for the end of the process.
func (p *process) ended() error {
	if err := p.wait(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(p.stderr.String()))
	}
	return nil
}

// startWorker starts a worker, which is ready when this returns.
func startWorker(f workerFlags) (*process, error) {
	p, _, err := start(f.args()...)
	return p, err
}

// service is the process of the service.
type service struct {
	*process
	control, url string
}

func startService(settings settings) (*service, error) {
	p, line, err := start("serve")
	if err != nil {
		return nil, err
	}
	control, url, _ := strings.Cut(line, " ")
	s := &service{p, control, url}
	return s, s.set(settings)
}

func (s *service) set(settings settings) error {
	body, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	response, err := http.Post(s.control+"/settings", "application/json", bytes.NewReader(body))
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// ask returns a report of the service: "total" has only the numbers, "report" has each
// key.
func (s *service) ask(what string) (r report, err error) {
	response, err := http.Get(s.control + "/" + what)
	if err != nil {
		return r, err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(body, &r)
}

// patience only ends a part that hangs: a busy machine can take much longer than the usual
// seconds.
const patience = 10 * time.Minute

// until polls a condition.
func until(ctx context.Context, limit time.Duration, what string, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%s: not within %s", what, limit))
	defer cancel()
	for {
		ok, err := condition()
		if ok {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
