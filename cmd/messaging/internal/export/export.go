package export

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
)

// Options are what an export writes, and where.
type Options struct {
	// To is the file. If Stdout is set, the records go there instead, and To names it for people.
	To     string
	Stdout io.Writer
	Format Format
	// Columns are the names of the columns to write; nil means all.
	Columns []string
	// Resume continues an export that was stopped. Overwrite replaces the file, and
	// discards such an export.
	Resume, Overwrite bool
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
	encode, begin, err := newEncoder(records, options)
	if err != nil {
		return Progress{}, err
	}
	j, unlock, err := options.open(records.Name)
	if err != nil {
		return Progress{}, err
	}
	defer unlock()
	w := walk[T]{job: j, records: records, encode: encode, report: report}
	if j.size == 0 {
		err = j.write(begin)
	}
	if err == nil {
		err = w.run(ctx, client)
	}
	if err != nil {
		return j.progress, j.stop(err)
	}
	return j.progress, j.finish()
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
	case o.Resume && o.Overwrite:
		return usage("--resume and --overwrite exclude each other")
	case o.Resume && !unfinished:
		return usage("there is no unfinished export to %s", o.To)
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

// walk is one run of an export.
type walk[T any] struct {
	*job
	records Records[T]
	encode  encoder[T]
	report  func(Progress)
	lines   []byte // of the last page, whose memory is used again
}

func (w *walk[T]) run(ctx context.Context, client *messaging.Client) error {
	for page, err := range w.records.pages(ctx, client, w.cursor) {
		if err == nil && time.Since(w.last) >= w.options.Checkpoint {
			// The rows before this page are complete, and its cursor is known to be valid.
			err = w.checkpoint(page.Cursor)
		}
		if err == nil {
			err = w.add(page.Items)
		}
		if err != nil {
			return err
		}
		w.report(w.progress)
	}
	return nil
}

// add writes the records of a page that were not listed before.
func (w *walk[T]) add(page []T) (err error) {
	w.lines = w.lines[:0]
	for i := range page {
		if name := w.records.id(&page[i]); name != "" && !w.isNew(name) {
			w.progress.Repeated++
			continue
		}
		if w.lines, err = w.encode(w.lines, &page[i]); err != nil {
			return err
		}
		w.progress.Rows++
	}
	return w.write(w.lines)
}
