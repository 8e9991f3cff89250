package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// table is a CSV file that is written page by page. Until it is finished, there is a
// second file beside it that says how much of it counts, so that a program that is
// killed at any moment can go on later.
type table struct {
	file  *os.File
	start checkpoint // where this run of the program goes on
}

// checkpoint is the content of the second file: the first Bytes bytes of the table are
// the pages before the page at Cursor. What follows them is written again.
type checkpoint struct {
	Cursor string `json:"cursor"`
	Bytes  int64  `json:"bytes"`
}

// openTable creates the file, or opens the file of an export that was stopped.
func openTable(path string) (*table, error) {
	last, err := readCheckpoint(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s exists, and is not overwritten: delete it, or set -out to another file", path)
		}
		// Before the table itself: a table alone is taken for a finished one.
		err = last.save(path)
	}
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	t := &table{file: file, start: last}
	if err := t.discardUnfinished(); err != nil {
		file.Close()
		return nil, err
	}
	return t, nil
}

// discardUnfinished removes what was written after the checkpoint, which may be a part
// of a page.
func (t *table) discardUnfinished() error {
	size, err := t.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if size < t.start.Bytes {
		return fmt.Errorf("%s has %d bytes, but %d were written: delete it and %s to start again",
			t.file.Name(), size, t.start.Bytes, checkpointPath(t.file.Name()))
	}
	if err := t.file.Truncate(t.start.Bytes); err != nil {
		return err
	}
	_, err = t.file.Seek(t.start.Bytes, io.SeekStart)
	return err
}

// append writes the rows of the page at cursor, the first one with a header. The page
// counts once the next one is appended, since only then its cursor is known to be good:
// after a page whose cursor leads back, the export must not resume there.
func (t *table) append(cursor string, rows [][]string) error {
	size, err := t.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	if err := (checkpoint{Cursor: cursor, Bytes: size}).save(t.file.Name()); err != nil {
		return err
	}
	var page bytes.Buffer
	w := csv.NewWriter(&page)
	if size == 0 {
		rows = append([][]string{header}, rows...)
	}
	if err := w.WriteAll(rows); err != nil {
		return err
	}
	if _, err := t.file.Write(page.Bytes()); err != nil {
		return err
	}
	return t.file.Sync()
}

// finish closes the complete table and removes the file beside it.
func (t *table) finish() error {
	if err := t.file.Close(); err != nil {
		return err
	}
	return os.Remove(checkpointPath(t.file.Name()))
}

func checkpointPath(table string) string { return table + ".resume" }

func readCheckpoint(table string) (c checkpoint, err error) {
	data, err := os.ReadFile(checkpointPath(table))
	if err != nil {
		return c, err
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("%s: %w", checkpointPath(table), err)
	}
	return c, nil
}

// save replaces the file beside the table in one step, so that a killed program leaves
// either the old content or the new one.
func (c checkpoint) save(table string) error {
	data, err := json.Marshal(c)
	if err != nil {
		return err
	}
	temporary := checkpointPath(table) + ".tmp"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, checkpointPath(table))
}
