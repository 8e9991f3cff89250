//go:build unix

package ledger

import (
	"io/fs"
	"strconv"
	"syscall"
)

// fileNumber tells a file from its copies. The number of the device is left out, since it
// can change when the machine starts.
func fileNumber(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return strconv.FormatUint(stat.Ino, 10)
}
