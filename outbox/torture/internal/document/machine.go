package document

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

// Machine describes this machine and the day, for the line below a table. Call it before
// the measurement begins, because it also says if other programs keep the machine busy.
func Machine() string {
	text := fmt.Sprintf("%s/%s · Go %s · %d processors · %s", runtime.GOOS, runtime.GOARCH, strings.TrimPrefix(runtime.Version(), "go"),
		runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly))
	if load() > float64(runtime.NumCPU())/2 {
		text += " · **the machine was busy with other programs, so rates are too low**"
	}
	return text
}

// load returns how many programs have wanted a processor in the last minute, or 0 if the
// system does not report it.
func load() (average float64) {
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		_, _ = fmt.Sscan(string(text), &average)
	}
	return average
}
