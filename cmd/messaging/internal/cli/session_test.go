package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/creack/pty"
)

// session is a program on a terminal.
type session struct {
	cmd      *exec.Cmd
	terminal *os.File
	ended    chan struct{} // everything that it shows was read

	mu    sync.Mutex
	shown bytes.Buffer
}

// patience is how long a session may take. It only ends a test that hangs.
const patience = 5 * time.Minute

// startSession starts a program on a terminal that wraps nothing.
func startSession(folder string, env []string, name string, args ...string) (*session, error) {
	s := &session{cmd: exec.Command(name, args...), ended: make(chan struct{})}
	s.cmd.Dir = folder
	s.cmd.Env = append(append(os.Environ(), "ON_TERMINAL=1", "TERM=xterm", "NO_COLOR=1"), env...)
	var err error
	if s.terminal, err = pty.StartWithSize(s.cmd, &pty.Winsize{Rows: 40, Cols: 1000}); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.ended)
		_, _ = io.Copy(s, s.terminal) // ends with an error when the program has ended
	}()
	return s, nil
}

func (s *session) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.Write(p)
}

func (s *session) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// expect waits until the terminal shows one of the texts, or until the program has ended.
func (s *session) expect(texts ...string) bool {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(s.text(), text) }) {
			return true
		}
		select {
		case <-s.ended:
			return false
		default:
		}
	}
	return false
}

// write types a text; ^C is an interrupt.
func (s *session) write(text string) {
	_, _ = io.WriteString(s.terminal, strings.ReplaceAll(text, "^C", "\x03")) // the test notices
}

// wait waits until the program has ended, and returns its exit code.
func (s *session) wait() (code int, err error) {
	timer := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() })
	defer timer.Stop()
	<-s.ended
	defer s.terminal.Close()
	_ = s.cmd.Wait() // the exit code has it
	if code = s.cmd.ProcessState.ExitCode(); code < 0 {
		return code, fmt.Errorf("it was killed: %v", s.cmd.ProcessState)
	}
	return code, nil
}
