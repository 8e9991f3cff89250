package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"syscall"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
)

// sendBegan is set before the first request that the service could carry out, and before a line says
// that it begins. If the program then ends in the middle, nobody knows what became of it.
var sendBegan atomic.Bool

// endAtQuit ends the program at a signal that asks for an end at once. The runtime would exit
// with 2, which says that nothing was sent.
func endAtQuit(args []string, stderr io.Writer) (stop func()) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, syscall.SIGQUIT, syscall.SIGABRT)
	go func() {
		if got, ok := <-quit; ok {
			os.Exit(int(reportEnd(errors.New("ended by a signal: "+got.String()), exit.Interrupted, args, stderr)))
		}
	}()
	return func() {
		signal.Stop(quit)
		close(quit)
	}
}

// reportEnd writes why the program ends in the middle, and returns its exit code.
func reportEnd(cause error, unsent exit.Code, args []string, stderr io.Writer) exit.Code {
	err := exit.With(unsent, "%w; nothing was sent", cause)
	if sendBegan.Load() {
		err = exit.With(exit.Unknown, "%w; what was being sent may have been carried out: look before you repeat it", cause)
	}
	return (&settings{}).report(err, args, stderr)
}

// withoutPanic runs a program. The exit code after a panic depends on whether something may
// have been sent.
func withoutPanic(program func() int, args []string, stderr io.Writer) (code int) {
	defer func() {
		if value := recover(); value != nil {
			_, _ = stderr.Write(debug.Stack()) // there is nowhere else to report it
			code = int(reportEnd(panicError(value), exit.Unexpected, args, stderr))
		}
	}()
	return program()
}

// panicError describes a panic. A value that is not of the runtime could hold a key or an
// address, and is not shown.
func panicError(value any) error {
	if fault, ok := value.(runtime.Error); ok {
		return fault
	}
	return errors.New("panic: this is a bug of the program; the stack above shows where")
}
