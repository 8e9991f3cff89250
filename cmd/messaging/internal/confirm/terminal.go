package confirm

import (
	"bufio"
	"context"
	"errors"
	"os"

	"golang.org/x/term"
)

// terminal is the terminal of the operator, whatever stdin is.
type terminal struct{ *os.File }

func openTerminal() (*terminal, error) {
	file, err := os.OpenFile(terminalName, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if !term.IsTerminal(int(file.Fd())) {
		return nil, errors.Join(errors.New("not a terminal"), file.Close())
	}
	return &terminal{file}, nil
}

// checkTerminal returns an error if there is no terminal to ask on.
func checkTerminal() error {
	tty, err := openTerminal()
	if err == nil {
		_ = tty.Close() // it was only opened
	}
	return err
}

// readLine reads a line, until ctx is done. The read itself cannot be interrupted on every
// system, so it is left behind; the program ends soon.
func (t *terminal) readLine(ctx context.Context) string {
	read := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(t).ReadString('\n')
		if err != nil {
			line = "" // it is not complete
		}
		read <- line
	}()
	select {
	case line := <-read:
		return line
	case <-ctx.Done():
		return ""
	}
}
