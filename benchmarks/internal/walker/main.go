// Command walker walks all customers with the SDK and prints the peak memory of
// its process in KiB. It is a program of its own because the other clients take
// tens of megabytes before they do anything, in which a small growth would drown.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"

	"github.com/messaging-go/messaging"
)

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: walker base-url"))
	}
	peak, err := walk(context.Background(), os.Args[1])
	if err != nil {
		fail(err)
	}
	fmt.Println(peak)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "walker:", err)
	os.Exit(1)
}

func walk(ctx context.Context, base string) (peak uint64, err error) {
	client, err := messaging.NewClient(base, "key")
	if err != nil {
		return 0, err
	}
	fillHeap()
	all := client.Customers.All(ctx, messaging.CustomerListParams{PerPage: 100}, messaging.WithoutReadAhead())
	for _, err := range all {
		if err != nil {
			return 0, err
		}
	}
	return ownPeak()
}

// fillHeap makes garbage until the collector has run a hundred times. Below 4 MB
// it does not run, and a short walk stays below that where a long one does not:
// a difference that is not about rows.
func fillHeap() {
	garbage := make([]byte, 1000)
	var memory runtime.MemStats
	for memory.NumGC < 100 {
		for range 1000 {
			garbage = bytes.Clone(garbage)
		}
		runtime.ReadMemStats(&memory)
	}
}

// ownPeak is what Linux says of this process. The usual way, getrusage, would
// count the memory that the parent had when it started this one.
func ownPeak() (kilobytes uint64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("peak memory is measured on Linux alone: %w", err)
	}
	_, line, _ := bytes.Cut(status, []byte("VmHWM:"))
	_, err = fmt.Sscan(string(line), &kilobytes)
	return kilobytes, err
}
