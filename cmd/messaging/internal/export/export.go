package export

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
)

// job is what an export writes to, and how far it is.
type job struct {
	options  Options
	to       io.Writer
	part     *os.File          // to, unless it is stdout
	resume   *os.File          // nil for a stream
	what     string            // the first line of resume
	size     int64             // of what was written
	cursor   string            // where this run begins
	seen     map[hash]struct{} // of the ids of the records
	fresh    []byte            // those since the last checkpoint
	progress Progress
	last     time.Time // of the last checkpoint
}

// checkpoint is a line of the .resume file, after the first: it says what a later run must have in common. The first Bytes
// bytes of the .part file are the rows before the page at Cursor. Seen are the hashes since the line before.
type checkpoint struct {
	Cursor   string `json:"cursor"`
	Bytes    int64  `json:"bytes"`
	Rows     int    `json:"rows"`
	Repeated int    `json:"repeated"`
	Seen     []byte `json:"seen"`
}

// hash is the beginning of the sha256 of an id. Among a million ids, the chance that two have the same is 1 in 37 million.
type hash [8]byte

// openStream returns the job of stdout, a pipe or a device.
func openStream(o Options) (j *job, err error) {
	if o.Resume {
		return nil, usage("%s is no file that could be resumed", o.To)
	}
	j = &job{options: o, to: o.Stdout, last: time.Now(), seen: map[hash]struct{}{}}
	if o.Stdout == nil {
		j.part, err = os.OpenFile(o.To, os.O_WRONLY, 0)
		j.to = j.part
	}
	return j, err
}

// openFiles creates the files of an export, or opens those of one that was stopped.
func openFiles(records string, o Options) (j *job, err error) {
	j = &job{options: o, last: time.Now(), seen: map[hash]struct{}{}}
	if j.resume, err = os.OpenFile(o.resumePath(), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if j.part, err = os.OpenFile(o.partPath(), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, errors.Join(err, j.resume.Close())
	}
	j.to, j.what = j.part, o.describe(records)
	if !o.Resume {
		err = j.begin("")
	} else if why := j.load(); why != nil {
		err = j.begin(why.Error())
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// begin empties the files. why says what keeps the export from being continued, if it was to be.
func (j *job) begin(why string) error {
	if why != "" {
		j.options.Note("the unfinished export cannot be continued, and begins again: %s", why)
	}
	j.seen, j.cursor, j.size, j.fresh, j.progress = map[hash]struct{}{}, "", 0, nil, Progress{}
	return errors.Join(cut(j.resume, 0), cut(j.part, 0), j.record(j.what))
}

// describe says what an export and a run that resumes it must have in common.
func (o Options) describe(records string) string {
	what := records + " of " + o.Service + " as " + string(o.Format)
	if o.SpreadsheetSafe {
		what += " for spreadsheets"
	}
	return fmt.Sprintf("%s, %d a page", what, o.PerPage)
}

// maxAge is how old what is resumed can be. Later, too many rows have changed.
const maxAge = 12 * time.Hour

// load reads the .resume file, and cuts both files back to the last checkpoint.
func (j *job) load() error {
	info, err := j.resume.Stat()
	if err != nil || info.Size() == 0 {
		return errors.Join(err, j.record(j.what))
	}
	decoder := json.NewDecoder(j.resume)
	var began string
	switch err := decoder.Decode(&began); {
	case err != nil:
		return fmt.Errorf("%s holds no checkpoint", j.resume.Name())
	case began != j.what:
		return fmt.Errorf("it is of %s, and this one is of %s", began, j.what)
	case time.Since(info.ModTime()) > maxAge:
		return fmt.Errorf("it is older than %s", maxAge)
	}
	var last, next checkpoint
	valid := decoder.InputOffset()
	for decoder.Decode(&next) == nil { // until the end, or a line that was cut off
		last, valid = next, decoder.InputOffset()
		for fresh := next.Seen; len(fresh) >= len(hash{}); fresh = fresh[len(hash{}):] {
			j.seen[hash(fresh)] = struct{}{}
		}
	}
	j.cursor, j.size = last.Cursor, last.Bytes
	j.progress = Progress{Rows: last.Rows, Resumed: last.Rows, Repeated: last.Repeated}
	return errors.Join(cut(j.resume, valid), cut(j.part, last.Bytes))
}

// cut shortens a file, and goes to its end.
func cut(file *os.File, size int64) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if info.Size() < size {
		return fmt.Errorf("%s has %d bytes, but %d were written", file.Name(), info.Size(), size)
	}
	if info.Size() > size {
		if err := file.Truncate(size); err != nil {
			return err
		}
	}
	_, err = file.Seek(size, io.SeekStart)
	return err
}

// isNew reports whether no record with this id was exported, and remembers it.
func (j *job) isNew(id string) bool {
	sum := sha256.Sum256([]byte(id))
	if _, isThere := j.seen[hash(sum[:])]; isThere {
		return false
	}
	j.seen[hash(sum[:])] = struct{}{}
	j.fresh = append(j.fresh, sum[:len(hash{})]...)
	return true
}

func (j *job) write(lines []byte) error {
	n, err := j.to.Write(lines)
	j.size += int64(n)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", j.options.To, err)
	}
	return nil
}

// checkpoint records that the rows before a page are written. The rows reach the disk
// before the line about them.
func (j *job) checkpoint(cursor string) error {
	fresh := j.fresh
	j.fresh, j.last = fresh[:0], time.Now()
	if j.resume == nil {
		return nil
	}
	if err := j.part.Sync(); err != nil {
		return err
	}
	return j.record(checkpoint{cursor, j.size, j.progress.Rows, j.progress.Repeated, fresh})
}

// record appends a line to the .resume file.
func (j *job) record(line any) error {
	return errors.Join(json.NewEncoder(j.resume).Encode(line), j.resume.Sync())
}

// stop closes the files after an error, and records the page that could not be read. It
// removes them if there is nothing to resume.
func (j *job) stop(err error) error {
	failed, isPage := errors.AsType[*messaging.PageError](err)
	switch {
	case j.resume == nil:
		return errors.Join(err, j.close())
	case j.progress.Rows == 0:
		return errors.Join(err, j.close(), os.Remove(j.part.Name()), os.Remove(j.resume.Name()))
	case !isPage || errors.Is(err, messaging.ErrBadCursor): // the next run would fail at the same page
		return errors.Join(err, j.close())
	}
	if err := errors.Join(j.checkpoint(failed.Cursor), j.close()); err != nil {
		return err
	}
	return exit.With(exit.CodeOf(err), "%w; %s rows are kept: run the same command with --resume to continue", err,
		words.Thousands(j.progress.Rows))
}

// finish gives the complete file its name.
func (j *job) finish() error {
	if j.resume == nil {
		return j.close()
	}
	place, err := files.Find(j.options.To)
	if err != nil {
		return errors.Join(err, j.close())
	}
	if err := errors.Join(j.resume.Close(), place.Put(j.part)); err != nil {
		return err
	}
	return os.Remove(j.resume.Name())
}

// close closes the files.
func (j *job) close() (err error) {
	for _, file := range []*os.File{j.part, j.resume} {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
	}
	return err
}

// Options are what an export writes, and where.
type Options struct {
	// To is the file. If Stdout is set, the records go there instead, and To names it for people.
	To     string
	Stdout io.Writer
	Format Format
	// Resume continues an export that was stopped, if there is one that can be continued. Overwrite replaces the file and,
	// without Resume, discards such an export.
	Resume, Overwrite bool
	// PerPage is the page size. A cursor is that of one size.
	PerPage int
	// Note says something to people.
	Note func(format string, args ...any)
	// SpreadsheetSafe puts an apostrophe before a cell of CSV that a spreadsheet may run as
	// a formula.
	SpreadsheetSafe bool
	// Service names the service. An export resumes only at the one where it began.
	Service string
	// Checkpoint is the time between two records of how far the export is. A killed export
	// loses the work of that time.
	Checkpoint time.Duration
}

// Progress is how far an export is.
type Progress struct {
	// Rows are those in the file, and Resumed those of them from earlier runs.
	Rows, Resumed int
	// Repeated counts the rows that were left out because they had been listed before.
	Repeated int
}

func usage(format string, args ...any) error { return exit.With(exit.Usage, format, args...) }

// Run writes the records to a file, which appears only when it is complete. Until then, a
// file with the suffix .part holds the rows, and a file with the suffix .resume says how far
// they are. report is called after each page. A pipe or a device is written through: it cannot be replaced, nor resumed.
func Run[T any](ctx context.Context, client *messaging.Client, records Records[T], options Options,
	report func(Progress)) (Progress, error) {
	j, unlock, err := options.open(records.Name)
	if err != nil {
		return Progress{}, err
	}
	defer unlock()
	encode, begin := newEncoder(records, options)
	err = walk(ctx, client, j, records, begin, encode, report)
	if j.isRefused(err) {
		if err = j.begin("the service refuses its cursor"); err == nil {
			err = walk(ctx, client, j, records, begin, encode, report)
		}
	}
	if err != nil {
		return j.progress, j.stop(err)
	}
	return j.progress, j.finish()
}

// isRefused reports whether err is that of a service that refuses the cursor where this run begins.
func (j *job) isRefused(err error) bool {
	failed, ok := errors.AsType[*messaging.PageError](err)
	return ok && j.cursor != "" && failed.Cursor == j.cursor && messaging.NextStepOf(err) == messaging.NextFixRequest
}

// walk writes the records of each page that were not listed before, and what a new file begins with.
func walk[T any](ctx context.Context, client *messaging.Client, j *job, records Records[T], begin []byte, encode encoder[T],
	report func(Progress)) error {
	if j.size == 0 {
		if err := j.write(begin); err != nil {
			return err
		}
	}
	var lines []byte // of a page; the memory is used again
	for page, err := range records.pages(ctx, client, j.options.PerPage, j.cursor) {
		if err == nil && time.Since(j.last) >= j.options.Checkpoint {
			// The rows before this page are complete, and its cursor is known to be valid.
			err = j.checkpoint(page.Cursor)
		}
		if err != nil {
			return err
		}
		lines = lines[:0]
		for i := range page.Items {
			if id := records.id(&page.Items[i]); id != "" && !j.isNew(id) {
				j.progress.Repeated++
				continue
			}
			if lines, err = encode(lines, &page.Items[i]); err != nil {
				return err
			}
			j.progress.Rows++
		}
		if err := j.write(lines); err != nil {
			return err
		}
		report(j.progress)
	}
	return nil
}

// open opens what the records go to, unless a file is in the way.
func (o Options) open(records string) (j *job, unlock func(), err error) {
	place := files.Place{Path: o.To}
	if o.Stdout == nil {
		if place, err = files.Find(o.To); err != nil {
			return nil, nil, err
		}
	}
	if o.To = place.Path; o.Stdout != nil || place.IsStream() {
		j, err = openStream(o)
		return j, func() {}, err
	}
	if unlock, err = o.lock(); err != nil {
		return nil, nil, err
	}
	if err = o.check(place); err == nil {
		j, err = openFiles(records, o)
	}
	if err != nil {
		unlock()
	}
	return j, unlock, err
}

// lock keeps other processes from writing the same files.
func (o Options) lock() (unlock func(), err error) {
	if info, err := os.Stat(filepath.Dir(o.To)); err != nil || !info.IsDir() {
		return nil, usage("the folder %s does not exist", filepath.Dir(o.To))
	}
	lock := flock.New(o.To+".lock", flock.SetPermissions(0o600))
	held, err := lock.TryLock()
	if err == nil && (!held || !isCurrent(lock)) {
		err = usage("another export to %s is running", o.To)
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return func() {
		_ = os.Remove(lock.Path()) // the lock of a process that is gone is free, so a file that stays is in nobody's way
		_ = lock.Close()
	}, nil
}

// isCurrent reports whether a lock is on the file that others would lock. An export that
// ended can have removed it after it was opened.
func isCurrent(lock *flock.Flock) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	current, err := os.Stat(lock.Path())
	return err == nil && os.SameFile(locked, current)
}

// check returns an error if a file is in the way.
func (o Options) check(place files.Place) error {
	_, err := os.Lstat(o.resumePath())
	unfinished := !errors.Is(err, fs.ErrNotExist)
	switch {
	case place.Exists && place.Mode.IsDir():
		return usage("%s is a folder", o.To)
	case !o.Overwrite && place.Exists:
		return usage("%s exists; pass --overwrite to replace it", o.To)
	case !o.Overwrite && !o.Resume && unfinished:
		return usage("an export to %s is unfinished; pass --resume to continue it, or --overwrite to start again", o.To)
	}
	return nil
}

func (o Options) partPath() string   { return o.To + ".part" }
func (o Options) resumePath() string { return o.To + ".resume" }
