package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// file is a file with the content that it is to have.
type file struct {
	path    string
	content []byte
	// isOurs returns an error if the file that exists must not be replaced.
	isOurs func(existing []byte) error
}

// foreignError reports a file that is not replaced.
type foreignError struct {
	path string
	err  error
}

func (e *foreignError) Error() string { return e.path + " is not replaced: " + e.err.Error() }

// change is a file that differs from its content.
type change struct {
	file
	target    string // behind symbolic links
	mode      fs.FileMode
	temporary string
}

// changes returns the files that differ. Git may have converted the ends of their lines.
func changes(list []file) (changed []*change, err error) {
	for _, f := range list {
		c := &change{file: f, target: f.path}
		switch info, err := os.Stat(f.path); {
		case errors.Is(err, fs.ErrNotExist):
			changed = append(changed, c)
			continue
		case err != nil:
			return nil, err
		case !info.Mode().IsRegular():
			return nil, fmt.Errorf("%s is not a regular file", f.path)
		default:
			c.mode = info.Mode().Perm()
		}
		existing, err := os.ReadFile(f.path)
		if err != nil {
			return nil, err
		}
		existing = bytes.ReplaceAll(existing, []byte("\r\n"), []byte("\n"))
		if bytes.Equal(existing, f.content) {
			continue
		}
		if err := f.isOurs(existing); err != nil {
			return nil, &foreignError{f.path, err}
		}
		if c.target, err = filepath.EvalSymlinks(f.path); err != nil {
			return nil, err
		}
		changed = append(changed, c)
	}
	return changed, nil
}

// write writes the files that differ from their content, and returns their paths. A file is
// replaced as a whole, and none is before all of them have been written beside their places.
func write(list ...file) (written []string, err error) {
	changed, err := changes(list)
	if err != nil {
		return nil, err
	}
	for _, c := range changed {
		if err := c.writeBeside(); err != nil {
			return nil, err
		}
		defer func() { _ = os.Remove(c.temporary) }() // which is gone if all went well
	}
	for _, c := range changed {
		if err := os.Rename(c.temporary, c.target); err != nil {
			return written, err
		}
		written = append(written, c.path)
	}
	return written, nil
}

// writeBeside writes the content to a new file in the folder of the target. Its name begins
// with a dot, which the go command ignores.
func (c *change) writeBeside() error {
	folder, base := filepath.Split(c.target)
	if err := os.MkdirAll(filepath.Dir(c.target), 0o777); err != nil {
		return err
	}
	c.temporary = filepath.Join(folder, fmt.Sprintf(".%s.%d.tmp", strings.TrimPrefix(base, "."), os.Getpid()))
	created, err := os.OpenFile(c.temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o666)
	if err != nil {
		return err
	}
	if c.mode != 0 {
		err = created.Chmod(c.mode)
	}
	_, writeErr := created.Write(c.content)
	err = errors.Join(err, writeErr, created.Sync(), created.Close())
	if err != nil {
		_ = os.Remove(c.temporary)
	}
	return err
}
