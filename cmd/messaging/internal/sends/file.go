package sends

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
)

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
