package confirm

import "golang.org/x/sys/unix"

const terminalName = "/dev/tty"

// flush discards what was typed and not yet read.
func (t *terminal) flush() error {
	return unix.IoctlSetInt(int(t.Fd()), unix.TCFLSH, unix.TCIFLUSH)
}
