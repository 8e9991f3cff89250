package sqliteledger

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// These bytes are locked by a process that writes: one of the shared memory in WAL mode,
// one of the database in other modes.
const (
	walWriteByte  = 120
	reservedByte  = 0x40000001
	locksOfSystem = "/proc/locks"
)

// lockHolders returns the ids of the processes that hold the write lock of a database.
func lockHolders(path string) string {
	locks, err := os.ReadFile(locksOfSystem)
	if err != nil {
		return ""
	}
	wanted := make(map[string]int64) // the byte to look at, by the inode
	for name, offset := range map[string]int64{path: reservedByte, path + "-shm": walWriteByte} {
		if info, err := os.Stat(name); err == nil {
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				wanted[strconv.FormatUint(stat.Ino, 10)] = offset
			}
		}
	}
	var holders []string
	for line := range strings.Lines(string(locks)) {
		// 1: POSIX ADVISORY WRITE 4711 08:01:131090 120 120
		fields := strings.Fields(line)
		if len(fields) != 8 || fields[3] != "WRITE" {
			continue
		}
		offset, ok := wanted[fields[5][strings.LastIndexByte(fields[5], ':')+1:]]
		var first, last int64
		_, err := fmt.Sscan(fields[6]+" "+fields[7], &first, &last)
		if ok && err == nil && first <= offset && offset <= last {
			holders = append(holders, fields[4])
		}
	}
	return strings.Join(holders, ", ")
}
