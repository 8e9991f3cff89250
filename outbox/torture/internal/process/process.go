// Package process runs this program again, as child processes that can be killed.
package process

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a child process.
type Process struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
	wait   func() error
}

// Start starts this program with the name of what it has to do and a task, and waits until
// it calls [Ready].
func Start(name string, task any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(self, name, string(encoded))}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if _, err := p.cmd.StdinPipe(); err != nil { // it ends with this process
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.wait = sync.OnceValue(p.cmd.Wait)
	p.lines = bufio.NewScanner(out)
	if err := p.Read(nil); err != nil {
		return nil, err
	}
	return p, nil
}

// Ready tells the parent that this process has started. From then on, it ends with the parent, even if
// the parent is killed.
func Ready() {
	Print(nil)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}

// Print passes a value to the parent.
func Print(value any) { _ = json.NewEncoder(os.Stdout).Encode(value) }

// Read waits for the next value that the process prints.
func (p *Process) Read(value any) error {
	if !p.lines.Scan() {
		p.Kill()
		return fmt.Errorf("the process ended: %s", p.lastLine())
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(p.lines.Bytes(), value)
}

func (p *Process) lastLine() string {
	text := strings.TrimSpace(p.stderr.String())
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill ends the process as a crash does.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	_ = p.wait()
}

// Stop asks the process to end, and waits.
func (p *Process) Stop() error {
	p.Signal(syscall.SIGTERM)
	if err := p.wait(); err != nil {
		return fmt.Errorf("%w: %s", err, p.lastLine())
	}
	return nil
}

// patience only ends what hangs: a busy machine can take much longer than the usual seconds.
const patience = 10 * time.Minute

// Until polls a condition.
func Until(ctx context.Context, what string, condition func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("%s: not within %s", what, patience))
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
