//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package confirm

import "golang.org/x/sys/unix"

const terminalName = "/dev/tty"

// flush discards what was typed and not yet read.
func (t *terminal) flush() error {
	const read = 1 // FREAD
	return unix.IoctlSetPointerInt(int(t.Fd()), unix.TIOCFLUSH, read)
}
