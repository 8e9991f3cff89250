package report

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// Machine describes this machine and the day, for the line below a table. Call it before
// the measurement begins, because it also says if other programs keep the machine busy.
func Machine() string {
	text := fmt.Sprintf("%s/%s · Go %s · %d processors · %s", runtime.GOOS, runtime.GOARCH, strings.TrimPrefix(runtime.Version(), "go"),
		runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly))
	if busy() > 0.25 {
		text += " · **the machine was busy with other programs, so rates are too low**"
	}
	return text
}

// busy returns the part of the processors' time that other programs use in a second, or 0
// if the system does not report it.
func busy() float64 {
	used, all := processorTime()
	time.Sleep(time.Second)
	usedNow, allNow := processorTime()
	return float64(usedNow-used) / max(float64(allNow-all), 1)
}

// processorTime returns how long the processors have been used, and all of their time, since
// the machine started.
func processorTime() (used, all int) {
	text, _ := os.ReadFile("/proc/stat") // which only Linux has
	line, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(line) {
		ticks, _ := strconv.Atoi(field)     // the first field is a name
		if all += ticks; i != 4 && i != 5 { // idle, and waiting for a disk
			used += ticks
		}
	}
	return used, all
}
