// Package intent remembers sends, so that the same one is not made twice by mistake. It
// writes down that a send begins before anything is sent, and later what became of it. It
// never writes a recipient.
package intent

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/folders"
)

// window is how long an accepted send counts as the same one.
const window = 24 * time.Hour

// Send is a send that is about to begin.
type Send struct {
	// Host is the identity of the service; see profile.Service.Identity.
	Host      string
	Operation string
	Body      []byte
	// Count is the number of recipients, or nil if it is not known.
	Count *int
}

// digest identifies the same send to the same service, from whatever profile.
func (s Send) digest() string {
	hash := sha256.New()
	for _, part := range []string{s.Host, s.Operation, string(s.Body)} {
		_, _ = hash.Write([]byte(strconv.Itoa(len(part)) + ":" + part)) // a hash does not fail
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// line is a line of the file: a send that begins, or what became of it.
type line struct {
	ID        string     `json:"id"`
	Digest    string     `json:"digest,omitempty"`
	Host      string     `json:"host,omitempty"`
	Operation string     `json:"operation,omitempty"`
	At        time.Time  `json:"at"`
	Count     *int       `json:"count,omitempty"`
	Delivery  string     `json:"delivery,omitempty"`
	Exit      *exit.Code `json:"exit,omitempty"`
}

// Log is the file sends.jsonl.
type Log struct {
	path string
	now  func() time.Time
}

// Open returns the log in the state folder. It creates nothing.
func Open(env folders.LookupEnv) (*Log, error) {
	folder, err := folders.State(env)
	if err != nil {
		return nil, exit.With(exit.Unexpected, "nothing was sent: cannot find the folder for sends.jsonl: %w", err)
	}
	return &Log{filepath.Join(folder, "sends.jsonl"), time.Now}, nil
}

// Path returns the path of the file.
func (l *Log) Path() string { return l.path }

// Intent is a send that has been written down.
type Intent struct {
	log *Log
	id  string
}

// Begin writes down that s begins. It refuses, with exit.Usage, a send that may have been
// made already, unless again is true. If the file cannot be written, nothing may be sent.
func (l *Log) Begin(ctx context.Context, s Send, again bool) (*Intent, error) {
	begun := line{ID: rand.Text(), Digest: s.digest(), Host: s.Host, Operation: s.Operation, At: l.now().UTC(), Count: s.Count}
	err := l.locked(ctx, func() error {
		lines, err := l.read()
		if err != nil {
			return err
		}
		if err := repeats(lines, begun); err != nil && !again {
			return err
		}
		return l.append(begun)
	})
	if own := new(exit.Error); err != nil && !errors.As(err, &own) {
		err = exit.With(exit.Unexpected, "nothing was sent: cannot write down that this send begins: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return &Intent{l, begun.ID}, nil
}

// Done writes down what became of the send.
func (i *Intent) Done(delivery messaging.Delivery, code exit.Code) error {
	return i.log.locked(context.Background(), func() error {
		return i.log.append(line{ID: i.id, At: i.log.now().UTC(), Delivery: exit.DeliveryName(delivery), Exit: &code})
	})
}

// repeats returns an error if begun may have been made before.
func repeats(lines []line, begun line) error {
	outcomes := make(map[string]line)
	for _, each := range lines {
		if each.Digest == "" {
			outcomes[each.ID] = each
		}
	}
	accepted, unknown := exit.DeliveryName(messaging.DeliveryAccepted), exit.DeliveryName(messaging.DeliveryUnknown)
	for _, each := range lines {
		outcome, ended := outcomes[each.ID]
		if each.Digest != begun.Digest || ended && outcome.Delivery != unknown &&
			(outcome.Delivery != accepted || begun.At.Sub(each.At) >= window) {
			continue
		}
		what := "was accepted"
		if !ended {
			what = "has no outcome: it may be in progress, or its process was killed"
		} else if outcome.Delivery == unknown {
			what = "may have been carried out: its response was lost"
		}
		host, _, _ := strings.Cut(begun.Host, "#")
		return exit.With(exit.Usage, "not sent: exactly this was sent to %s at %s, and %s; look before you pass --again, which sends it again",
			host, each.At.Format("2006-01-02 15:04:05 UTC"), what)
	}
	return nil
}

// locked calls do while no other process has the lock.
func (l *Log) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
		return err
	}
	lock := flock.New(l.path+".lock", flock.SetPermissions(0o600))
	if _, err := lock.TryLockContext(ctx, 10*time.Millisecond); err != nil {
		return err
	}
	return errors.Join(do(), lock.Close())
}

// read reads the lines. A last line without an end was torn by a crash before its send began,
// so it is cut off.
func (l *Log) read() (lines []line, err error) {
	content, err := os.ReadFile(l.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	whole := bytes.LastIndexByte(content, '\n') + 1
	if whole < len(content) {
		if err := os.Truncate(l.path, int64(whole)); err != nil {
			return nil, err
		}
	}
	for n := 1; whole > 0; n++ {
		text, rest, _ := bytes.Cut(content[:whole], []byte("\n"))
		var each line
		if err := json.Unmarshal(text, &each); err != nil {
			return nil, fmt.Errorf("%s: line %d is broken; move the file away after you have looked at it", l.path, n)
		}
		lines = append(lines, each)
		content, whole = rest, len(rest)
	}
	return lines, nil
}

// append appends a line, and returns when the disk has it.
func (l *Log) append(entry line) error {
	encoded, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(encoded, '\n'))
	return errors.Join(err, file.Sync(), file.Close(), syncFolder(filepath.Dir(l.path)))
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
