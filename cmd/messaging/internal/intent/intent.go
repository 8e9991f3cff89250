// Package intent remembers sends, so that the same one is not made twice by mistake. It
// writes down that a send begins before anything is sent, and later what became of it. Of
// recipients and values, it writes hashes alone.
package intent

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/folders"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// line is a line of the file: a send that begins, or what became of it.
type line struct {
	ID        string     `json:"id"`
	Digest    string     `json:"digest,omitempty"`
	marks                // of a broadcast
	Host      string     `json:"host,omitempty"`
	Operation string     `json:"operation,omitempty"`
	At        time.Time  `json:"at"`
	Due       *time.Time `json:"due,omitempty"` // of a scheduled broadcast
	Count     *int       `json:"count,omitempty"`
	Event     *Trigger   `json:"event,omitempty"` // of a trigger
	Delivery  string     `json:"delivery,omitempty"`
	Exit      *exit.Code `json:"exit,omitempty"`
}

// Log is the file sends.jsonl.
type Log struct {
	path     string
	now      func() time.Time
	patience time.Duration // how long to wait for the lock of another process
}

// Open returns the log in the state folder. It creates nothing.
func Open(env folders.LookupEnv) (*Log, error) {
	folder, err := folders.State(env)
	if err != nil {
		return nil, exit.With(exit.Unexpected, "nothing was sent: cannot find the folder for sends.jsonl: %w", err)
	}
	return newLog(filepath.Join(folder, "sends.jsonl")), nil
}

func newLog(path string) *Log { return &Log{path, time.Now, 10 * time.Second} }

// Path returns the path of the file.
func (l *Log) Path() string { return l.path }

// Intent is a send that has been written down.
type Intent struct {
	log    *Log
	id     string
	flight *flock.Flock // held until the send has ended
}

// Begin writes down that s begins. It refuses, with exit.Usage, a send that may have been
// made already, or that is like one, unless again is true and the ids of all of those are
// among seen: the operator has agreed to repeat them. If the file cannot be written, nothing may be sent.
func (l *Log) Begin(ctx context.Context, s Send, again bool, seen []string) (*Intent, error) {
	begun := line{ID: rand.Text(), Digest: s.digest(), marks: s.marks(), Host: s.Host, Operation: s.Operation,
		At: l.now().UTC(), Due: s.due(), Count: s.Count, Event: s.Trigger}
	var flight *flock.Flock
	err := l.locked(ctx, func() error {
		l.removeOld()
		lines, err := l.read()
		if err != nil {
			return err
		}
		known, err := l.recall(lines, s)
		if err != nil {
			return err
		}
		if err := known.Refusal(again, seen); err != nil {
			return err
		}
		if flight, err = l.takeOff(begun.ID); err != nil {
			return err
		}
		if err := l.append(begun); err != nil {
			l.land(flight)
			return err
		}
		return nil
	})
	if own := new(exit.Error); err != nil && !errors.As(err, &own) {
		err = exit.With(exit.Unexpected, "nothing was sent: cannot write down that this send begins: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return &Intent{l, begun.ID, flight}, nil
}

// Done writes down what became of the send.
func (i *Intent) Done(delivery messaging.Delivery, code exit.Code) error {
	defer i.log.land(i.flight)
	return i.log.locked(context.Background(), func() error {
		return i.log.append(line{ID: i.id, At: i.log.now().UTC(), Delivery: words.Delivery(delivery), Exit: &code})
	})
}

// locked calls do while no other process has the lock.
func (l *Log) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.patience)
	defer cancel()
	lock := flock.New(l.path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("another process has held the lock %s.lock for %s", l.path, l.patience)
	} else if err != nil {
		return err
	}
	return errors.Join(do(), lock.Close())
}

// read reads the whole lines. A last line without an end was torn by a crash, or is being
// written.
func (l *Log) read() (lines []line, err error) {
	if info, err := os.Stat(l.path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", l.path)
	}
	content, err := os.ReadFile(l.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	n, rest := 1, content[:wholeLines(content)]
	broken := func() ([]line, error) {
		return nil, fmt.Errorf("%s: line %d is broken; move the file away after you have looked at it", l.path, n)
	}
	for ; len(rest) > 0; n++ {
		text, after, _ := bytes.Cut(rest, []byte("\n"))
		var each line
		if err := json.Unmarshal(text, &each); err != nil || each.ID == "" {
			return broken()
		}
		lines, rest = append(lines, each), after
	}
	if torn := content[wholeLines(content):]; len(torn) > 0 && torn[0] != '{' { // such as the zeros of a damaged disk
		return broken()
	}
	return lines, nil
}

// wholeLines returns the length of the lines that have an end.
func wholeLines(content []byte) int { return bytes.LastIndexByte(content, '\n') + 1 }

// append appends a line, and returns when the disk has it. A line that a crash tore is cut
// off first, and so is this one if it cannot be written.
func (l *Log) append(entry line) error {
	encoded, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(l.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	end := int64(wholeLines(content))
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := l.write(file, end, append(encoded, '\n')); err != nil {
		return errors.Join(err, file.Truncate(end), file.Close())
	}
	return errors.Join(file.Close(), syncFolder(filepath.Dir(l.path)))
}

// write writes text at the end of the whole lines.
func (l *Log) write(file *os.File, end int64, text []byte) error {
	if err := file.Truncate(end); err != nil {
		return err
	}
	if _, err := file.WriteAt(text, end); err != nil {
		return err
	}
	return file.Sync()
}

// syncFolder makes sure that a new file survives a crash. Windows has no such call.
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	_ = folder.Sync() // some systems cannot, and the content of the file is on the disk
	return nil
}
