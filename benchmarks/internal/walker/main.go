// Command walker walks all customers with the SDK and prints the peak memory of
// its process in KiB. It is a separate program because the packages of the other
// clients alone use tens of megabytes, which would hide a small growth.
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
	client, err := messaging.NewClient(base, "test-key-1")
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

// fillHeap allocates until the garbage collector has run a hundred times. The
// collector does not run below 4 MB, which a short walk does not reach. Without
// fillHeap, the result would include that difference.
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

// ownPeak returns the peak memory of this process, from /proc. The result of
// getrusage would include the memory of the parent process at the time of the fork.
func ownPeak() (kilobytes uint64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("peak memory requires Linux: %w", err)
	}
	_, line, _ := bytes.Cut(status, []byte("VmHWM:"))
	_, err = fmt.Sscan(string(line), &kilobytes)
	return kilobytes, err
}
