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

// table is a CSV file that is written page by page. Until it is finished, a second file
// next to it records how much of the table is valid, so that a program that is killed at
// any moment can resume later.
type table struct {
	file  *os.File
	start checkpoint // where this run of the program resumes
}

// checkpoint is the content of the second file. The first Bytes bytes of the table are the
// pages before the page at Cursor. Anything after these bytes is written again.
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
		// This comes before the table, because a table without a checkpoint is taken to
		// be finished.
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

// discardUnfinished removes what was written after the checkpoint, which may be only part
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

// append writes the rows of the page at cursor. It writes a header before the first page. A
// page becomes part of the checkpoint only when the next page is appended, because only
// then is the cursor of the next page known to be valid. If that cursor is one of an
// earlier page, the export must not resume there.
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

// finish closes the complete table and removes its checkpoint.
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

// save replaces the checkpoint of the table atomically, so that a killed program leaves
// either the old checkpoint or the new one.
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
