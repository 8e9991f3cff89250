// Package process runs this program again, as child processes that can be killed.
package process

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// First is the first argument of a child process.
const First = "worker"

// Process is a child process.
type Process struct {
	cmd    *exec.Cmd
	lines  *bufio.Scanner
	stderr bytes.Buffer
	wait   func() error
}

// Start starts this program as a child process with a task, and waits until it calls
// [Ready].
func Start(task any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(task)
	if err != nil {
		return nil, err
	}
	p := &Process{cmd: exec.Command(self, First, string(encoded))}
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
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

// Task reads the task of this process. It returns false if this is not a child process.
func Task[T any](args []string) (task T, ok bool, err error) {
	if len(args) != 2 || args[0] != First {
		return task, false, nil
	}
	return task, true, json.Unmarshal([]byte(args[1]), &task)
}

// Ready tells the parent that this process has started.
func Ready() { Print(nil) }

// Print passes a value to the parent.
func Print(value any) { _ = json.NewEncoder(os.Stdout).Encode(value) }

// Read waits for the next value that the process prints.
func (p *Process) Read(value any) error {
	if !p.lines.Scan() {
		p.Kill()
		text := strings.TrimSpace(p.stderr.String())
		return fmt.Errorf("the process ended: %s", text[strings.LastIndexByte(text, '\n')+1:])
	}
	if value == nil {
		return nil
	}
	return json.Unmarshal(p.lines.Bytes(), value)
}

// Kill ends the process as a crash does.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	_ = p.wait()
}

// Stop asks the process to end, and waits.
func (p *Process) Stop() error {
	err := p.cmd.Process.Signal(syscall.SIGTERM)
	return errors.Join(err, p.wait())
}
