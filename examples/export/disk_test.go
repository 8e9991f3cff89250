//go:build unix

package main

import (
	"bytes"
	"fmt"
	"net/http/httptest"
	"os"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// init limits the size of the files that a program under test writes.
func init() {
	if text := os.Getenv("EXPORT_FILE_LIMIT"); text != "" {
		limit, err := strconv.ParseUint(text, 10, 64)
		if err == nil {
			err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit})
		}
		if err != nil {
			panic(err)
		}
	}
}

// A limit on the size of files stands for a full disk. It cuts a page within a row, or
// between two; at 0, not even the checkpoint can be written.
func TestExportResumesAfterTheDiskWasFull(t *testing.T) {
	for limit := 0; limit < 3600; limit += 440 {
		t.Run(fmt.Sprintf("after %d bytes", limit), func(t *testing.T) {
			e := newExports(t)
			server := httptest.NewServer(e.service.Handler())
			defer server.Close()
			e.url = server.URL

			var progress bytes.Buffer
			program := e.program()
			program.Env = append(program.Env, fmt.Sprintf("EXPORT_FILE_LIMIT=%d", limit))
			program.Stderr = &progress
			require.Error(t, program.Run())
			require.Contains(t, progress.String(), "file too large")

			require.NoError(t, e.program().Run())
			requireComplete(t, e.out, customers)
		})
	}
}
