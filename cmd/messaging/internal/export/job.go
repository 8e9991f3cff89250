package export

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
)

// job holds the files of an export.
type job struct {
	options  Options
	part     *output
	resume   *os.File // nil for a stream
	cursor   string   // where this run begins
	seen     seen
	progress Progress
	last     time.Time // of the last checkpoint
}

// start is the first line of the .resume file: what a later run must have in common.
type start struct {
	Records string   `json:"records"`
	Format  Format   `json:"format"`
	Columns []string `json:"columns"`
	Safe    bool     `json:"spreadsheet_safe"`
	Service string   `json:"service"`
}

// checkpoint is any other line. The first Bytes bytes of the .part file are the rows before
// the page at Cursor. IDs are the hashes of the ids since the line before.
type checkpoint struct {
	Cursor   string `json:"cursor"`
	Bytes    int64  `json:"bytes"`
	Rows     int    `json:"rows"`
	Repeated int    `json:"repeated"`
	IDs      []byte `json:"ids,omitempty"`
}

// open creates the files of an export, or opens those of one that was stopped.
func open(records string, o Options) (*job, error) {
	j := &job{options: o, last: time.Now()}
	first := start{records, o.Format, o.Columns, o.SpreadsheetSafe, o.Service}
	var err error
	if j.resume, err = os.OpenFile(o.resumePath(), openFlags(o), 0o600); err != nil {
		return nil, err
	}
	part, err := os.OpenFile(o.partPath(), openFlags(o), 0o600)
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	j.part = newOutput(part)
	if o.Resume {
		err = j.load(first)
	} else {
		err = j.appendLine(first)
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

func openFlags(o Options) int {
	if o.Resume {
		return os.O_RDWR | os.O_CREATE
	}
	return os.O_RDWR | os.O_CREATE | os.O_TRUNC
}

// load reads the .resume file, and cuts both files back to the last checkpoint.
func (j *job) load(first start) error {
	decoder := json.NewDecoder(j.resume)
	var earlier start
	if err := decoder.Decode(&earlier); err != nil {
		return usage("%s holds no checkpoint; pass --overwrite to start again", j.resume.Name())
	}
	if err := earlier.fits(first); err != nil {
		return err
	}
	var last checkpoint
	valid := decoder.InputOffset()
	for {
		var next checkpoint
		if err := decoder.Decode(&next); err != nil {
			break // the end, or a line that was cut off
		}
		last, valid = next, decoder.InputOffset()
		j.seen.load(next.IDs)
	}
	j.cursor, j.progress = last.Cursor, Progress{Rows: last.Rows, Resumed: last.Rows, Repeated: last.Repeated}
	if err := cut(j.resume, valid); err != nil {
		return err
	}
	if _, err := j.resume.WriteString("\n"); err != nil {
		return err
	}
	j.part.size = last.Bytes
	return cut(j.part.file, last.Bytes)
}

// fits returns an error if an export that began with one start cannot go on with another.
func (s start) fits(now start) error {
	const again = "; repeat the first command with --resume, or pass --overwrite to start again"
	switch {
	case s.Service != now.Service:
		return usage("the unfinished export is from %s, not from %s"+again, s.Service, now.Service)
	case s.Records != now.Records:
		return usage("the unfinished export is of %s, not of %s"+again, s.Records, now.Records)
	case s.Format != now.Format || s.Safe != now.Safe || !slices.Equal(s.Columns, now.Columns):
		return usage("the unfinished export has other columns or another format" + again)
	}
	return nil
}

// cut shortens a file, and goes to its end.
func cut(file *os.File, size int64) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < size {
		return usage("%s has %d bytes, but %d were written; pass --overwrite to start again", file.Name(), info.Size(), size)
	}
	if err := file.Truncate(size); err != nil {
		return err
	}
	_, err = file.Seek(size, io.SeekStart)
	return err
}

// checkpoint records that the rows before a page are written. The rows reach the disk
// before the line about them.
func (j *job) checkpoint(cursor string) error {
	hashes := j.seen.fresh
	j.seen.fresh, j.last = hashes[:0], time.Now()
	if j.resume == nil {
		return nil
	}
	if err := j.part.sync(); err != nil {
		return err
	}
	return j.appendCheckpoint(checkpoint{Cursor: cursor, Bytes: j.part.size, Rows: j.progress.Rows, Repeated: j.progress.Repeated}, hashes)
}

// appendCheckpoint appends a checkpoint with ids. They can be several megabytes, which
// encoding/json would hold more than once.
func (j *job) appendCheckpoint(line checkpoint, ids []byte) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(j.resume, 64<<10)
	_, _ = w.Write(bytes.TrimSuffix(text, []byte("}"))) // Flush returns the first error
	_, _ = w.WriteString(`,"ids":"`)
	encoder := base64.NewEncoder(base64.StdEncoding, w)
	_, _ = encoder.Write(ids)
	_ = encoder.Close()
	_, _ = w.WriteString("\"}\n")
	return errors.Join(w.Flush(), j.resume.Sync())
}

func (j *job) appendLine(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = j.resume.Write(append(text, '\n'))
	return errors.Join(err, j.resume.Sync())
}

// finish gives the complete file its name.
func (j *job) finish() error {
	place, err := files.Find(j.options.To)
	err = errors.Join(err, j.part.buffer.Flush(), j.resume.Close())
	if err == nil && !j.options.Overwrite && place.Exists {
		err = usage("%s was created in the meantime; the rows are in %s", j.options.To, j.options.partPath())
	}
	if err != nil {
		return errors.Join(err, j.part.file.Close())
	}
	if err := place.Put(j.part.file); err != nil {
		return err
	}
	return os.Remove(j.options.resumePath())
}

// close closes the files.
func (j *job) close() error {
	var err error
	if j.part != nil {
		err = j.part.file.Close()
	}
	return errors.Join(err, j.resume.Close())
}

// discard closes and removes the files.
func (j *job) discard() error {
	return errors.Join(j.close(), os.Remove(j.options.partPath()), os.Remove(j.options.resumePath()))
}

// output is the file of the rows. It counts what is written.
type output struct {
	file   *os.File
	buffer *bufio.Writer
	size   int64
}

func newOutput(file *os.File) *output {
	return &output{file: file, buffer: bufio.NewWriterSize(file, 64<<10)}
}

func (o *output) Write(p []byte) (int, error) {
	n, err := o.buffer.Write(p)
	o.size += int64(n)
	if err != nil {
		err = fmt.Errorf("cannot write %s: %w", o.file.Name(), err)
	}
	return n, err
}

func (o *output) sync() error {
	return errors.Join(o.buffer.Flush(), o.file.Sync())
}
