// Package sends keeps the record of the sends of this machine, so that a send whose outcome is not
// known, or that was just accepted, is not repeated by mistake. The record holds no recipient.
package sends

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
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
)

// An accepted send counts as the same one for window. Settled sends are forgotten after keep.
const (
	window = 23 * time.Hour
	keep   = 30 * 24 * time.Hour
)

// form is the version of the lines in the file. A program refuses those of a later one, because it would drop what it does not know.
const form = 1

// Shown is what an operator sees of a send.
type Shown struct {
	ID         string     `json:"id"`
	At         time.Time  `json:"at"`
	Profile    string     `json:"profile"`
	Host       string     `json:"host"`
	Operation  string     `json:"operation"`
	Subject    string     `json:"subject"`    // the beginning of that of a broadcast, or the name of an event
	SHA256     string     `json:"sha256"`     // of the body
	Recipients *int       `json:"recipients"` // nil if the number is not known
	Due        *time.Time `json:"due"`        // of a scheduled broadcast
	// Delivery is unknown, too, while nobody has written it down.
	Delivery messaging.Delivery `json:"delivery"`
	Again    bool               `json:"again"` // it was repeated with --again, and blocks no other send
}

// Send is a send in the record.
type Send struct {
	Shown
	// Version is that of the form of the line; see form.
	Version int `json:"version"`
	// Service tells the service from every other one, and Account is the fingerprint of the key; see profile.Service.
	Service string `json:"service"`
	Account string `json:"account"`
	// Resolved is whether an operator wrote the delivery, who may also correct it.
	Resolved bool `json:"resolved"`
}

// Sum returns the SHA-256 of a body, as [Send] has it.
func Sum(body []byte) string {
	hash := sha256.Sum256(body)
	return hex.EncodeToString(hash[:])
}

// isSame reports whether two sends are the same: to the same service, with the same operation and the same body, and with the
// same key or from the same profile, whose key can change.
func (s Send) isSame(other Send) bool {
	return s.Service == other.Service && s.Operation == other.Operation && s.SHA256 == other.SHA256 &&
		(s.Account == other.Account || s.Profile != "" && s.Profile == other.Profile)
}

// dueAt returns when the send reaches its recipients.
func (s Send) dueAt() time.Time {
	if s.Due != nil && s.Due.After(s.At) {
		return *s.Due
	}
	return s.At
}

// isOpen reports whether nobody knows what became of the send.
func (s Send) isOpen() bool { return s.Delivery == messaging.DeliveryUnknown }

// blocks reports whether the send keeps the same one from being made.
func (s Send) blocks(now time.Time) bool {
	return !s.Again && (s.isOpen() || s.Delivery == messaging.DeliveryAccepted && now.Sub(s.dueAt()) < window)
}

// Record is the file sends.jsonl.
type Record struct {
	path string
	now  func() time.Time
}

// Open returns the record in the state folder. It creates nothing.
func Open() (*Record, error) {
	folder, err := files.State()
	if err != nil {
		return nil, exit.With(exit.NotDone, "nothing was sent: cannot find the folder for sends.jsonl: %w", err)
	}
	return &Record{filepath.Join(folder, "sends.jsonl"), time.Now}, nil
}

// Path returns the path of the file.
func (r *Record) Path() string { return r.path }

// List returns all sends, oldest first.
func (r *Record) List() ([]Send, error) {
	list, err := r.read()
	if err != nil {
		return nil, exit.With(exit.NotDone, "cannot read the record of sends: %w", err)
	}
	return list, nil
}

// Blocking returns the last send that keeps the same one from being made, or nil.
func (r *Record) Blocking(send Send) (*Send, error) {
	list, err := r.read()
	if err != nil {
		return nil, exit.With(exit.NotDone, "nothing was sent: cannot read the record of sends: %w", err)
	}
	return r.blocking(list, send), nil
}

func (r *Record) blocking(list []Send, send Send) (last *Send) {
	for i, each := range list {
		if each.isSame(send) && each.blocks(r.now()) {
			last = &list[i]
		}
	}
	return last
}

// Begin writes down that a send begins, and returns it with its id. Nothing may be sent before. It fails with the refusal
// of another send than the one with the id of again that blocks it, and marks that one as repeated.
func (r *Record) Begin(ctx context.Context, send Send, again string) (Send, error) {
	send.ID, send.At, send.Version = rand.Text()[:10], r.now().UTC(), form // the id is unique enough for the file
	err := r.update(ctx, func(list []Send) ([]Send, error) {
		if earlier := r.blocking(list, send); earlier != nil && earlier.ID != again {
			return nil, earlier.Refusal()
		} else if earlier != nil {
			earlier.Again = true
		}
		list = slices.DeleteFunc(list, func(s Send) bool { return (s.Again || !s.isOpen()) && r.now().Sub(s.dueAt()) > keep })
		return append(list, send), nil
	})
	return send, notSent(err)
}

// Settle writes down what became of a send. An operator, who can be wrong, writes over no outcome of the process that sent it: a
// send that was accepted would be sent again.
func (r *Record) Settle(ctx context.Context, id string, delivery messaging.Delivery, isSender bool) (found Send, err error) {
	err = r.update(ctx, func(list []Send) ([]Send, error) {
		i := slices.IndexFunc(list, func(s Send) bool { return s.ID == id })
		if i < 0 {
			return nil, exit.With(exit.NotFound, "no send has the id %q; to see them: messaging sends list", id)
		}
		if !isSender && !list[i].isOpen() && !list[i].Resolved {
			return nil, exit.With(exit.Usage, "nothing was changed: the send is %s already; to send the same again, pass --again",
				list[i].Delivery)
		}
		list[i].Delivery, list[i].Resolved = delivery, !isSender
		found = list[i]
		return list, nil
	})
	return found, err
}

// Locked calls do while no other process of this machine begins a send.
func (r *Record) Locked(ctx context.Context, do func() error) error {
	var done error
	err := r.locked(ctx, func() error {
		done = do()
		return nil
	})
	return errors.Join(notSent(err), done)
}

// Check returns an error if the record cannot be read, or no send can be written down.
func (r *Record) Check(ctx context.Context) error {
	return notSent(r.update(ctx, func(list []Send) ([]Send, error) { return list, nil }))
}

// Refusal returns the error for a send that this one blocks.
func (s Send) Refusal() error {
	code, hint := exit.AlreadySent, "to send it a second time, pass --again"
	if s.isOpen() {
		code = exit.Unknown
		hint = "find out, and record it (or --not-carried-out), or pass --again to send it anyway:\n  " + s.ResolveCommand()
	}
	return exit.With(code, "%w", &exit.SendError{ID: s.ID,
		Err: fmt.Errorf("not sent: exactly this was sent to %s at %s, and %s; %s", s.Host, s.When(), s.Outcome(), hint)})
}

// ResolveCommand is the command that records that the send was carried out.
func (s Send) ResolveCommand() string { return "messaging sends resolve " + s.ID + " --carried-out" }

// Outcome says what became of the send.
func (s Send) Outcome() string {
	if s.isOpen() {
		return "may have been carried out"
	}
	return "was " + s.Delivery.String()
}

// When returns the time of the send for people.
func (s Send) When() string { return s.At.UTC().Format("2006-01-02 15:04:05 UTC") }

// patience is how long a process waits for others that write to the record.
const patience = 30 * time.Second

// notSent says that an error came before anything was sent.
func notSent(err error) error {
	if own := new(exit.Error); err == nil || errors.As(err, &own) {
		return err
	}
	return exit.With(exit.NotDone, "nothing was sent: cannot write to the record of sends: %w", err)
}

// locked calls do while no other process has the lock.
func (r *Record) locked(ctx context.Context, do func() error) error {
	if err := os.MkdirAll(filepath.Dir(r.path), 0o700); err != nil {
		return err
	}
	waiting, end := context.WithTimeout(ctx, patience)
	defer end()
	lock := flock.New(r.path+".lock", flock.SetPermissions(0o600))
	_, err := lock.TryLockContext(waiting, 10*time.Millisecond)
	switch {
	case ctx.Err() != nil:
		return exit.With(exit.Interrupted, "interrupted; nothing was sent")
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("another process has held the lock %s.lock for %s", r.path, patience)
	case err != nil:
		return err
	}
	return errors.Join(do(), lock.Close())
}

// read reads the sends, oldest first. Of several lines with one id, the last counts.
func (r *Record) read() (list []Send, err error) {
	content, err := r.content()
	if err != nil {
		return nil, err
	}
	positions := make(map[string]int)
	number := 0
	for text := range bytes.Lines(content) {
		number++
		var later struct{ Version int }
		if json.Unmarshal(text, &later) == nil && later.Version > form {
			return nil, fmt.Errorf("%s: line %d was written by a newer messaging; use that one", r.path, number)
		}
		var send Send
		if err := json.Unmarshal(text, &send); err != nil || send.ID == "" || send.Operation == "" {
			return nil, fmt.Errorf("%s: line %d is broken; look at it, and move the file away", r.path, number)
		}
		if i, known := positions[send.ID]; known {
			list[i] = send
			continue
		}
		positions[send.ID] = len(list)
		list = append(list, send)
	}
	return list, nil
}

// content returns the lines of the file that have an end. A last line without one is unfinished.
func (r *Record) content() ([]byte, error) {
	content, err := os.ReadFile(r.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return content[:bytes.LastIndexByte(content, '\n')+1], nil
}

// update changes the list of sends while no other process does, and returns when the disk has it.
func (r *Record) update(ctx context.Context, change func([]Send) ([]Send, error)) error {
	return r.locked(ctx, func() error {
		list, err := r.read()
		if err != nil {
			return err
		}
		if list, err = change(list); err != nil {
			return err
		}
		var lines []byte
		for _, send := range list {
			line, err := json.Marshal(send)
			if err != nil {
				return err
			}
			lines = append(append(lines, line...), '\n')
		}
		return files.Replace(r.path, lines)
	})
}
