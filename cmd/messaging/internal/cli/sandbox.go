package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/internal/service"
)

// sandboxFlags are the flags of the sandbox command.
type sandboxFlags struct {
	apiPort, uiPort, keep int
	keepBytes, seed       string
	allowHosts            []string
	open                  bool
}

func newSandbox() *cobra.Command {
	var flags sandboxFlags
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the service in memory, with an inspector in the browser",
		Long: `Run the service in memory on a loopback port, with an inspector in the browser
on another. Nothing leaves the machine, and no account is needed.

The addresses are written to stderr, and then three export lines for a shell to stdout.`,
		Example: fmt.Sprintf(`  messaging sandbox --seed demo
  messaging sandbox --seed customers.json --api-port 0 --ui-port 0
  eval "$(messaging sandbox env)"      # in another shell: point programs at it
  messaging sandbox fault answer_lost --op %q
  messaging sandbox wait op:trigger to:ada@example.com`, service.TriggerEvent.Name),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSandbox(cmd, flags) },
	}
	f := cmd.Flags()
	f.IntVar(&flags.apiPort, "api-port", 8077, "port of the service; 0 picks a free one")
	f.IntVar(&flags.uiPort, "ui-port", 8078, "port of the inspector; 0 picks a free one")
	f.StringVar(&flags.seed, "seed", "", "JSON `file` of "+records.Names("and")+`, or "demo"`)
	f.IntVar(&flags.keep, "keep", 10_000, "how many requests to keep")
	f.StringVar(&flags.keepBytes, "keep-bytes", "256MiB", "approximate memory limit for the kept requests")
	f.StringSliceVar(&flags.allowHosts, "allow-host", nil, "another host `name` for both ports, such as that of a container")
	f.BoolVar(&flags.open, "open", false, "open the inspector in the browser")
	cmd.AddCommand(newEnv(), newReset(), newFault(), newWait(), newDump())
	return cmd
}

func runSandbox(cmd *cobra.Command, flags sandboxFlags) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	keepBytes, err := parseBytes(flags.keepBytes)
	if err := checkFlags(flags, keepBytes, err); err != nil {
		return err
	}
	seed, err := readSeed(flags.seed)
	if err != nil {
		return exitWith(exitInvalid, "seed: %w", err)
	}
	api, err := listen("service", "--api-port", flags.apiPort)
	if err != nil {
		return err
	}
	ui, err := listen("inspector", "--ui-port", flags.uiPort)
	if err != nil {
		_ = api.Close()
		return err
	}
	box, err := sandbox.Start(sandbox.Config{Listener: api, Wrap: inspector.ProtectService(api.Addr(), flags.allowHosts),
		Keep: flags.keep, KeepBytes: keepBytes, Seed: seed})
	if err != nil {
		return exitWith(exitUnexpected, "%w", err)
	}
	defer box.Close()
	server := inspector.Server(ctx, box, ui.Addr(), flags.allowHosts)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ui) }()

	inspectorURL := "http://" + ui.Addr().String()
	cmd.PrintErrf("service    %s\ninspector  %s\n", box.URL(), inspectorURL)
	writeEnv(cmd, environment{box.URL(), box.APIKey(), inspectorURL})
	if flags.open {
		openBrowser(cmd, inspectorURL)
	}
	select {
	case <-ctx.Done():
		shutDown(server)
		return nil
	case err := <-box.Failed():
		shutDown(server)
		return exitWith(exitUnexpected, "%w", err)
	case err := <-served:
		return exitWith(exitUnexpected, "the inspector no longer listens: %w", err)
	}
}

func checkFlags(flags sandboxFlags, keepBytes int64, parseErr error) error {
	switch {
	case parseErr != nil || keepBytes < 1:
		return exitWith(exitUsage, "--keep-bytes must be a size such as 256MiB")
	case flags.keep < 1:
		return exitWith(exitUsage, "--keep must be at least 1")
	case min(flags.apiPort, flags.uiPort) < 0 || max(flags.apiPort, flags.uiPort) > 65535:
		return exitWith(exitUsage, "--api-port and --ui-port must be from 0 to 65535")
	case flags.apiPort == flags.uiPort && flags.apiPort != 0:
		return exitWith(exitUsage, "--api-port and --ui-port must differ")
	}
	return nil
}

// shutDown gives open responses a moment to end. The streams have already ended with
// the context of the command.
func shutDown(server *http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
	defer cancel()
	if server.Shutdown(ctx) != nil {
		_ = server.Close() // the process ends
	}
}

// listen listens on a port of the loopback address. A port that is taken is an error:
// on the next port, programs would keep using the other sandbox.
func listen(what, flag string, port int) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, exitWith(exitUnexpected, "port %d for the %s is taken; pass %s to choose another, or 0 for any free port", port, what, flag)
	case err != nil:
		return nil, exitWith(exitUnexpected, "cannot listen for the %s: %w", what, err)
	}
	return listener, nil
}

func readSeed(name string) (records.Seed, error) {
	switch name {
	case "":
		return records.Seed{}, nil
	case "demo":
		return records.Demo(), nil
	}
	path, err := filepath.Abs(name) // for the error: go run -C changes the folder
	if err != nil {
		return records.Seed{}, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(name, `./\`) {
		return records.Seed{}, fmt.Errorf("%w; the built-in seed is \"demo\"", err)
	}
	if err != nil {
		return records.Seed{}, err
	}
	seed, err := records.ParseSeed(data)
	if err != nil {
		return records.Seed{}, fmt.Errorf("%s: %w", path, err)
	}
	return seed, nil
}

// parseBytes parses a size in bytes, KiB, MiB or GiB.
func parseBytes(s string) (int64, error) {
	shift := 0
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if rest, ok := strings.CutSuffix(s, unit); ok {
			s, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseInt(strings.TrimSpace(s), 10, 64)
	if n > math.MaxInt64>>shift {
		return 0, strconv.ErrRange
	}
	return n << shift, err
}

func openBrowser(cmd *cobra.Command, url string) {
	command := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	if err := exec.Command(command[0], append(command[1:], url)...).Start(); err != nil {
		cmd.PrintErrln("cannot open the browser:", err)
	}
}
