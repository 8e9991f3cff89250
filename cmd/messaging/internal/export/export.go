package export

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/files"
	"github.com/messaging-go/messaging/cmd/messaging/internal/hashes"
)

// Options are what an export writes, and where.
type Options struct {
	To     string
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

// StoppedError reports an export that can be resumed.
type StoppedError struct{ err error }

func (e *StoppedError) Error() string { return e.err.Error() }
func (e *StoppedError) Unwrap() error { return e.err }

// Run writes the records to a file, which appears only when it is complete. Until then, a
// file with the suffix .part holds the rows, and a file with the suffix .resume says how far
// they are. report is called after each page.
func Run[T any](ctx context.Context, client *messaging.Client, records Records[T], options Options,
	report func(Progress)) (Progress, error) {
	columns, err := records.Select(options.Columns)
	if err != nil {
		return Progress{}, err
	}
	if options.Format == JSONLines && slices.Contains(options.Columns, extra) {
		return Progress{}, usage("%q is a column of CSV; JSON Lines has its members beside the others", extra)
	}
	place, err := files.Find(options.To)
	if err != nil {
		return Progress{}, err
	}
	if options.To = place.Path; place.IsStream() {
		return stream(ctx, client, records, columns, options, report)
	}
	unlock, err := options.lock()
	if err != nil {
		return Progress{}, err
	}
	defer unlock()
	if err := options.check(place); err != nil {
		return Progress{}, err
	}
	j, err := open(records.Name, options)
	if err != nil {
		return Progress{}, err
	}
	w := walk[T]{job: j, records: records, encoder: newEncoder(j.part, records, columns, options), report: report}
	if err := w.run(ctx, client); err != nil {
		return j.progress, w.stop(err)
	}
	return j.progress, j.finish()
}

// stream writes the records to a pipe or a device, which cannot be replaced, nor resumed.
func stream[T any](ctx context.Context, client *messaging.Client, records Records[T], columns []Column[T], options Options,
	report func(Progress)) (Progress, error) {
	if options.Resume {
		return Progress{}, usage("%s is no file that could be resumed", options.To)
	}
	file, err := os.OpenFile(options.To, os.O_WRONLY, 0)
	if err != nil {
		return Progress{}, err
	}
	j := &job{options: options, part: newOutput(file), last: time.Now()}
	w := walk[T]{job: j, records: records, encoder: newEncoder(j.part, records, columns, options), report: report}
	err = w.run(ctx, client)
	return j.progress, errors.Join(err, j.part.buffer.Flush(), file.Close())
}

// lock keeps other processes from writing the same files.
func (o Options) lock() (unlock func(), err error) {
	if info, err := os.Stat(filepath.Dir(o.To)); err != nil || !info.IsDir() {
		return nil, usage("the folder %s does not exist", filepath.Dir(o.To))
	}
	for {
		lock := flock.New(o.To+".lock", flock.SetPermissions(0o600))
		held, err := lock.TryLock()
		switch {
		case err != nil:
			return nil, err
		case !held:
			return nil, errors.Join(usage("another export to %s is running", o.To), lock.Close())
		case isCurrent(lock):
			return func() {
				_ = os.Remove(lock.Path()) // the lock of a process that is gone is free, so a file that stays is in nobody's way
				_ = lock.Close()
			}, nil
		}
		if err := lock.Close(); err != nil {
			return nil, err
		}
	}
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
	switch {
	case o.Resume && o.Overwrite:
		return usage("--resume and --overwrite exclude each other")
	case o.Resume && !exists(o.resumePath()):
		return usage("there is no unfinished export to %s", o.To)
	case place.Exists && place.Mode.IsDir():
		return usage("%s is a folder", o.To)
	case !o.Overwrite && place.Exists:
		return usage("%s exists; pass --overwrite to replace it", o.To)
	case !o.Overwrite && !o.Resume && exists(o.resumePath()):
		return usage("an export to %s is unfinished; pass --resume to continue it, or --overwrite to start again", o.To)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

func (o Options) partPath() string   { return o.To + ".part" }
func (o Options) resumePath() string { return o.To + ".resume" }

// walk is one run of an export.
type walk[T any] struct {
	*job
	records Records[T]
	encoder encoder[T]
	report  func(Progress)
	ids     []hashes.Hash // of the last page, whose memory is used again
	id      []byte        // of the last record, likewise
}

func (w *walk[T]) run(ctx context.Context, client *messaging.Client) error {
	if w.part.size == 0 {
		if err := w.encoder.begin(); err != nil {
			return err
		}
	}
	for page, err := range w.records.Pages(ctx, client, w.cursor) {
		if err == nil && time.Since(w.last) >= w.options.Checkpoint {
			// The rows before this page are complete, and its cursor is known to be valid.
			err = w.checkpoint(page.Cursor)
		}
		if err != nil {
			return err
		}
		if err := w.encoder.encode(w.unseen(page.Items)); err != nil {
			return err
		}
		w.report(w.progress)
	}
	return nil
}

// stop closes the files after an error, and records the page that could not be read. It
// removes them if there is nothing to resume.
func (w *walk[T]) stop(err error) error {
	failed, isPage := errors.AsType[*messaging.PageError](err)
	switch {
	case w.progress.Rows == 0:
		return errors.Join(err, w.discard())
	case !isPage || errors.Is(err, messaging.ErrBadCursor): // the next run would fail at the same page
		return errors.Join(err, w.close())
	}
	if err := errors.Join(w.checkpoint(failed.Cursor), w.close()); err != nil {
		return err
	}
	return &StoppedError{err}
}

// unseen returns the records that were not listed before, and counts them.
func (w *walk[T]) unseen(page []T) []T {
	w.ids = w.ids[:0]
	for i := range page {
		w.ids = append(w.ids, w.hash(&page[i]))
	}
	w.seen.ids.Fetch(w.ids)
	kept := 0
	for i, id := range w.ids {
		if !w.seen.add(id) {
			continue
		}
		if kept < i {
			page[kept] = page[i]
		}
		kept++
	}
	w.progress.Rows += kept
	w.progress.Repeated += len(page) - kept
	return page[:kept]
}

// hash returns the hash of the id of a record, or the zero Hash if it has none.
func (w *walk[T]) hash(record *T) hashes.Hash {
	if w.id = w.records.ID(w.id[:0], record); len(w.id) == 0 {
		return hashes.Hash{}
	}
	return hashes.Of(w.id)
}
