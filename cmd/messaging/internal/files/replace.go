// Package files finds the folders of the program, and writes files as a whole, or through what is no regular file.
package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Place is where a file is to be written.
type Place struct {
	// Path is that of the file itself, behind all links.
	Path string
	// Exists is whether there is a file, and Mode is its mode.
	Exists bool
	Mode   fs.FileMode
}

// Find returns the place that a path names. The file does not need to exist, its folder does.
func Find(path string) (Place, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.Mode().IsDir() {
		return Place{path, true, info.Mode()}, nil // the links of /dev/stdout end at no path if it is a pipe
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if _, isLink := os.Readlink(path); isLink == nil {
			return Place{}, err // a link to nothing
		}
		return Place{Path: path, Mode: 0o600}, nil
	}
	if err != nil {
		return Place{}, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return Place{}, err
	}
	return Place{real, true, info.Mode()}, nil
}

// IsStream reports whether there is no regular file that could be replaced, but a pipe or a device. It has to be written
// through.
func (p Place) IsStream() bool { return p.Exists && !p.Mode.IsRegular() && !p.Mode.IsDir() }

// Put gives a complete file its place, and the mode of the file that it replaces. It closes the file.
func (p Place) Put(complete *os.File) error {
	err := complete.Sync()
	if p.Exists {
		err = errors.Join(err, os.Chmod(complete.Name(), p.Mode.Perm()))
	}
	if err = errors.Join(err, complete.Close()); err != nil {
		return err
	}
	if err := os.Rename(complete.Name(), p.Path); err != nil {
		return err
	}
	if folder, err := os.Open(filepath.Dir(p.Path)); err == nil {
		_ = folder.Sync() // makes the name durable, where the system can do that
		_ = folder.Close()
	}
	return nil
}

// Replace writes a file as a whole, or not at all.
func Replace(path string, content []byte) error {
	place, err := Find(path)
	if err != nil {
		return err
	}
	if place.IsStream() {
		return os.WriteFile(place.Path, content, 0)
	}
	file, err := os.CreateTemp(filepath.Dir(place.Path), ".*.tmp")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }() // which is gone if all went well
	if _, err := file.Write(content); err != nil {
		return errors.Join(err, file.Close())
	}
	return place.Put(file)
}
