package cli

import (
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync/atomic"
	"syscall"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// sendBegan is set before the first request that the service could carry out, and before a line of the record says
// that it begins. If the program then ends in the middle, nobody knows what became of it.
var sendBegan atomic.Bool

// endCode returns the exit code of a program that ends in the middle. The runtime would exit with 2, which says that nothing
// was sent.
func endCode() exit.Code {
	if sendBegan.Load() {
		return exit.Unknown
	}
	return exit.Unexpected
}

// endAtQuit ends the program at a signal that asks for an end at once.
func endAtQuit(stderr io.Writer) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT, syscall.SIGABRT)
	_, _ = fmt.Fprintf(stderr, "messaging: ended by a signal: %v\n", <-quit) // there is nowhere else to report it
	os.Exit(int(endCode()))
}

// recoverCode turns a panic into an exit code. The value of the panic could hold a key or an address, and is not shown.
func recoverCode(code *int, stderr io.Writer) {
	if recover() == nil {
		return
	}
	_, _ = stderr.Write(debug.Stack()) // there is nowhere else to report it
	_, _ = fmt.Fprintln(stderr, "messaging: this is a bug of the program; the stack above shows where")
	*code = int(endCode())
}
