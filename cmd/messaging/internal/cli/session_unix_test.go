//go:build !windows

package cli

import "syscall"

// leaveTerminal makes sure that the program cannot ask the person who runs the tests.
func leaveTerminal() { _, _ = syscall.Setsid() } // it fails if there is no terminal to leave
