package ledger

import (
	"os"
	"path/filepath"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// Place is where the file of an outbox is. It tells the file from a copy, which would be
// sent a second time. It is zero for a database.
type Place struct{ Host, Path, File string }

// String names the place for people.
func (p Place) String() string { return p.Path + " on " + p.Host }

// Place returns where the outbox is now.
func (a Address) Place() (Place, error) {
	if a.path == "" {
		return Place{}, nil
	}
	host, err := os.Hostname()
	if err != nil {
		return Place{}, exit.With(exit.Unexpected, "%s: the name of this machine: %w", a.path, err)
	}
	p := Place{Host: host, Path: a.Absolute()}
	if info, err := os.Stat(a.path); err == nil {
		p.File = fileNumber(info)
	}
	return p, nil
}

// Absolute is the path of the file, without symbolic links as far as it exists. For a
// database it is the title.
func (a Address) Absolute() string {
	if a.path == "" {
		return a.Title()
	}
	path, err := filepath.Abs(a.path)
	if err != nil {
		return a.path
	}
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		return filepath.Join(folder, filepath.Base(path))
	}
	return path
}
