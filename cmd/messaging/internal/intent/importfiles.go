package intent

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/alike"
)

// imported is the first line of the file of an import. Its tokens follow, in order, with
// eight bytes each.
type imported struct {
	ID        string      `json:"id"`
	Host      string      `json:"host"`
	EventID   string      `json:"event_id"`
	EventName string      `json:"event_name"`
	Shape     alike.Shape `json:"shape"`
	Outbox    string      `json:"outbox"`
	Title     string      `json:"title"`
	Plan      string      `json:"plan"`
	At        time.Time   `json:"at"`
	Tokens    int         `json:"tokens"`
}

// How the names of files end, of imports that may have been killed and of others.
const importBegun, importWhole = ".begun", ".whole"

// wholeName is the name that a file gets when its import is done.
func wholeName(path string) string { return strings.TrimSuffix(path, importBegun) + importWhole }

func (l *Log) importFolder() string { return filepath.Join(filepath.Dir(l.path), "imports") }

// removeOld removes the files that are not read any more, and those that a killed import did
// not finish. One that stays does no harm.
func (l *Log) removeOld() {
	entries, err := os.ReadDir(l.importFolder())
	if err != nil {
		return // there is none
	}
	for _, entry := range entries {
		if at, ok := beganAt(entry.Name()); ok && l.now().Sub(at) >= importWindow {
			_ = os.Remove(filepath.Join(l.importFolder(), entry.Name()))
		}
	}
}

// beganAt returns when an import began, which is in the name of its file.
func beganAt(name string) (at time.Time, ok bool) {
	var began int64
	_, err := fmt.Sscanf(name, "%d-", &began)
	return time.Unix(0, began), err == nil
}

// writeImport writes the file of an import.
func (l *Log) writeImport(path string, entry imported, tokens []alike.Token) error {
	if err := os.MkdirAll(l.importFolder(), 0o700); err != nil {
		return err
	}
	temporary := path + ".tmp"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(writeTokens(file, entry, tokens), file.Sync(), file.Close()); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	if err := os.Rename(temporary, path); err != nil {
		return err
	}
	return syncFolder(l.importFolder())
}

func writeTokens(file io.Writer, entry imported, tokens []alike.Token) error {
	header, err := json.Marshal(entry)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(file)
	_, _ = w.Write(append(header, '\n')) // Flush returns the first error
	var encoded [8]byte
	for _, token := range tokens {
		binary.BigEndian.PutUint64(encoded[:], uint64(token))
		_, _ = w.Write(encoded[:])
	}
	return w.Flush()
}

// importFile is the file of an import.
type importFile struct {
	imported
	path  string
	at    time.Time // as its name says
	whole bool
}

// what says for people how its triggers were sent.
func (f importFile) what() string {
	if !f.whole {
		return "imported, in part at least, into " + f.Title
	}
	return "imported into " + f.Title
}

// importFiles ranges over the files, without their headers.
func (l *Log) importFiles() iter.Seq2[importFile, error] {
	return func(yield func(importFile, error) bool) {
		entries, err := os.ReadDir(l.importFolder())
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			yield(importFile{}, err)
			return
		}
		for _, entry := range entries {
			name := entry.Name()
			at, ok := beganAt(name)
			if !ok || !strings.HasSuffix(name, importBegun) && !strings.HasSuffix(name, importWhole) {
				continue
			}
			f := importFile{path: filepath.Join(l.importFolder(), name), at: at, whole: strings.HasSuffix(name, importWhole)}
			if !yield(f, nil) {
				return
			}
		}
	}
}

// imports ranges over the imports that are remembered.
func (l *Log) imports() iter.Seq2[importFile, error] {
	return func(yield func(importFile, error) bool) {
		for f, err := range l.importFiles() {
			if err == nil && l.now().Sub(f.at) >= importWindow {
				continue
			}
			if err == nil {
				err = f.read(func(header imported, _ iter.Seq[alike.Token]) { f.imported = header })
			}
			if !yield(f, err) || err != nil {
				return
			}
		}
	}
}

// common returns what the import has in common with the triggers of a set, or nil.
func (f importFile) common(triggers *alike.Set) (*Common, error) {
	n, unclear := 0, 0
	err := f.read(func(_ imported, tokens iter.Seq[alike.Token]) { n, unclear = triggers.Common(tokens) })
	if err != nil || n+unclear == 0 {
		return nil, err
	}
	common := f.shared(n)
	if n == 0 {
		common = common.doubtful(namedOtherwise)
	}
	return &common, nil
}

// with returns what the import has in common with one trigger, or nil.
func (f importFile) with(tokens alike.Tokens) (*Common, error) {
	var one alike.Set
	one.Add(tokens)
	one.Sort()
	return f.common(&one)
}

// read calls do with what the file holds. Its end was on the disk before it got its name, so
// a file that ends early is an error.
func (f importFile) read(do func(header imported, tokens iter.Seq[alike.Token])) error {
	file, err := f.open()
	if err != nil {
		return err
	}
	defer file.Close()
	r := bufio.NewReaderSize(file, 1<<16)
	text, err := r.ReadBytes('\n')
	var header imported
	if err == nil {
		err = json.Unmarshal(text, &header)
	}
	if err != nil {
		return f.broken(err)
	}
	do(header, func(yield func(alike.Token) bool) {
		var encoded [8]byte
		for range header.Tokens {
			if _, err = io.ReadFull(r, encoded[:]); err != nil || !yield(alike.Token(binary.BigEndian.Uint64(encoded[:]))) {
				return
			}
		}
	})
	if err != nil {
		return f.broken(err)
	}
	return nil
}

// open opens the file, which gets its other name when the import is done.
func (f importFile) open() (*os.File, error) {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return os.Open(wholeName(f.path))
	}
	return file, err
}

func (f importFile) broken(err error) error {
	return fmt.Errorf("%s is broken; move the file away after you have looked at it: %w", f.path, err)
}
