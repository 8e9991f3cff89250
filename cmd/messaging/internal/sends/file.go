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
	"slices"
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

// content returns the lines of the file that have an end. A crash can leave a last line without one.
func (r *Record) content() ([]byte, error) {
	if info, err := os.Stat(r.path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", r.path)
	}
	content, err := os.ReadFile(r.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return content[:bytes.LastIndexByte(content, '\n')+1], nil
}

// append appends a line for each send, and returns when the disk has them.
func (r *Record) append(list ...Send) error {
	content, err := r.content()
	if err != nil {
		return err
	}
	lines, err := encode(list)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	end := int64(len(content))
	err = file.Truncate(end)
	if err == nil {
		_, err = file.WriteAt(lines, end)
	}
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		_ = file.Truncate(end) // else the next send does it
	}
	files.SyncFolder(filepath.Dir(r.path))
	return errors.Join(err, file.Close())
}

func encode(list []Send) (lines []byte, err error) {
	for _, send := range list {
		line, err := json.Marshal(send)
		if err != nil {
			return nil, err
		}
		lines = append(append(lines, line...), '\n')
	}
	return lines, nil
}

// forgetOld drops the sends from the file that are settled and old. The lock is held.
func (r *Record) forgetOld(list []Send) ([]Send, error) {
	young := slices.DeleteFunc(slices.Clone(list), func(s Send) bool { return !s.isOpen() && r.now().Sub(s.dueAt()) > keep })
	if len(young) == len(list) {
		return list, nil
	}
	lines, err := encode(young)
	if err != nil {
		return nil, err
	}
	return young, files.Replace(r.path, lines)
}
