package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// file is a file with the content that it is to have.
type file struct {
	path    string
	content []byte
	// compare lists what is not current in a file with other content. A file that this program
	// did not write is an error.
	compare     func(path string, existing []byte) (differences []string, err error)
	differences []string
	mode        fs.FileMode // of what is there
}

// changes returns the files that differ. Git may have converted the ends of their lines.
func changes(list []file) (changed []file, err error) {
	for _, f := range list {
		info, err := os.Stat(f.path)
		if errors.Is(err, fs.ErrNotExist) {
			f.differences = []string{f.path}
			changed = append(changed, f)
			continue
		}
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is not a regular file", f.path)
		}
		if err != nil {
			return nil, err
		}
		existing, err := os.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		existing = bytes.ReplaceAll(existing, []byte("\r\n"), []byte("\n"))
		if bytes.Equal(existing, f.content) {
			continue
		}
		if f.differences, err = f.compare(f.path, existing); err != nil {
			return nil, codeError{usage, fmt.Errorf("%s is not replaced: %w", f.path, err)}
		}
		f.mode = info.Mode().Perm()
		changed = append(changed, f)
	}
	return changed, nil
}

// write gives the file its content as a whole, or not at all. A link to it stays a link.
func (f file) write() error {
	path := f.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	// The go command ignores files that begin with a dot.
	temporary := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d.tmp", filepath.Base(path), os.Getpid()))
	created, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temporary) }() // which is gone if all went well
	if f.mode != 0 {
		err = created.Chmod(f.mode)
	}
	_, writeErr := created.Write(f.content)
	if err := errors.Join(err, writeErr, created.Sync(), created.Close()); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
