// Package files writes files as a whole, or compares them with what is there.
package files

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// File is a file with the content that it is to have.
type File struct {
	Path    string
	Content []byte
	// IsOurs returns an error if the file that exists must not be replaced.
	IsOurs func(existing []byte) error
}

// ForeignError reports a file that is not replaced.
type ForeignError struct {
	Path string
	Err  error
}

func (e *ForeignError) Error() string { return e.Path + " is not replaced: " + e.Err.Error() }
func (e *ForeignError) Unwrap() error { return e.Err }

// Write writes the files that differ from their content, and returns their paths. A file is
// replaced as a whole, and none is before all of them have been written beside their places.
func Write(list ...File) (written []string, err error) {
	changed, err := changes(list)
	if err != nil {
		return nil, err
	}
	for _, c := range changed {
		temporary, err := writeBeside(c.File)
		if err != nil {
			return nil, err
		}
		defer func() { _ = os.Remove(temporary) }() // which is gone if all went well
		c.temporary = temporary
	}
	for _, c := range changed {
		if err := os.Rename(c.temporary, c.Path); err != nil {
			return written, err
		}
		written = append(written, c.Path)
	}
	return written, nil
}

// Diff returns what Write would change, as a unified diff.
func Diff(list ...File) ([]byte, error) {
	changed, err := changes(list)
	var all bytes.Buffer
	for _, c := range changed {
		all.Write(diff.Diff(c.Path, c.existing, c.Path+" (as it should be)", c.Content))
	}
	return all.Bytes(), err
}

// change is a file that differs from its content.
type change struct {
	File
	existing  []byte // nil if there is none
	temporary string
}

// changes returns the files that differ. Git may have converted the ends of their lines.
func changes(list []File) (changed []*change, err error) {
	for _, f := range list {
		existing, err := os.ReadFile(f.Path)
		exists := !errors.Is(err, fs.ErrNotExist)
		if err != nil && exists {
			return nil, err
		}
		existing = bytes.ReplaceAll(existing, []byte("\r\n"), []byte("\n"))
		if exists && bytes.Equal(existing, f.Content) {
			continue
		}
		if exists {
			if err := f.IsOurs(existing); err != nil {
				return nil, &ForeignError{f.Path, err}
			}
		}
		changed = append(changed, &change{File: f, existing: existing})
	}
	return changed, nil
}

// writeBeside writes the content to a new file in the folder of the file. Its name begins
// with a dot, which the go command ignores.
func writeBeside(f File) (name string, err error) {
	folder, base := filepath.Split(f.Path)
	if err := os.MkdirAll(filepath.Dir(f.Path), 0o777); err != nil {
		return "", err
	}
	name = filepath.Join(folder, fmt.Sprintf(".%s.%d.tmp", strings.TrimPrefix(base, "."), os.Getpid()))
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return "", err
	}
	_, err = file.Write(f.Content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}
