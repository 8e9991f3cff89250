package confirm

import "golang.org/x/sys/windows"

const terminalName = "CONIN$"

// flush discards what was typed and not yet read.
func (t *terminal) flush() error {
	return windows.FlushConsoleInputBuffer(windows.Handle(t.Fd()))
}
