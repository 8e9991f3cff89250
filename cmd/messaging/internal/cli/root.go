// Package cli holds the commands of the program.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging"
)

// The exit codes. They are documented, and never change their meaning.
const (
	exitUnexpected  = 1
	exitUsage       = 2
	exitInvalid     = 3
	exitDenied      = 4
	exitRateLimited = 5
	exitNotFound    = 6
	exitNotDone     = 8
	exitDrift       = 10
	exitTimeIsUp    = 11
)

// exitError is an error with the exit code for it.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

func exitWith(code int, format string, args ...any) error {
	return &exitError{code, fmt.Errorf(format, args...)}
}

// Main runs the program and returns its exit code.
func Main() int {
	return run(context.Background(), os.Args[1:], os.Stdout, os.Stderr)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:           "messaging",
		Short:         "Work with a messaging and events service",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.AddCommand(newSandbox(), newGen())
	leadWithExamples(root)
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintln(stderr, "messaging:", err) // there is nowhere else to report it
	if exit := new(exitError); errors.As(err, &exit) {
		return exit.code
	}
	return exitUsage // cobra's own errors are about flags and arguments
}

// version returns the version of the module, and of the program if it was installed.
func version() string {
	text := messaging.Version
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		text += " (" + info.Main.Version + ")"
	}
	return text
}

// leadWithExamples makes the help of every command begin with its examples.
func leadWithExamples(root *cobra.Command) {
	const examples = "{{if .HasExample}}\n\nExamples:\n{{.Example}}{{end}}"
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), examples, "", 1))
	root.SetHelpTemplate("{{if .HasExample}}{{.Example}}\n\n{{end}}" + root.HelpTemplate())
}
