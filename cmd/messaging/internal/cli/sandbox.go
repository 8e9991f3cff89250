package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/remote"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// sandboxFlags are the flags of the sandbox command.
type sandboxFlags struct {
	apiPort, uiPort   int
	keep, maxRecords  int
	keepBytes, seed   string
	key, identifier   string
	startID           string
	listen, tokenFile string
	allowHosts        []string
}

func newSandbox(s *settings) *cobra.Command {
	var flags sandboxFlags
	cmd := &cobra.Command{
		Use:   "sandbox",
		Short: "Run the service in memory, with an inspector in the browser",
		Long: `Run the service in memory on a loopback port, with an inspector in the browser
on another. Nothing leaves the machine, and no account is needed.

The addresses are written to stderr, and then three export lines for a shell to stdout.`,
		Example: fmt.Sprintf(`  messaging sandbox --seed demo
  messaging sandbox --seed customers.json --api-port 0 --ui-port 0
  eval "$(messaging sandbox env)" && ./shop     # in another shell: point a program at it
  messaging sandbox fault answer_lost --op %q
  messaging sandbox wait op:trigger to:ada@example.com`, service.TriggerEvent.Name),
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runSandbox(cmd, flags) },
	}
	f := cmd.Flags()
	f.IntVar(&flags.apiPort, "api-port", 8077, "port of the service; 0 picks a free one")
	f.IntVar(&flags.uiPort, "ui-port", 8078, "port of the inspector; 0 picks a free one")
	f.StringVar(&flags.seed, "seed", "", "JSON `file` of "+records.Names("and")+`, "-" for stdin, or "demo"`)
	f.IntVar(&flags.keep, "keep", 10_000, "how many requests to keep")
	f.StringVar(&flags.keepBytes, "keep-bytes", "256MiB", "approximate memory limit for requests")
	f.IntVar(&flags.maxRecords, "max-records", 100_000, "how many records of each kind requests can create, their only limit; 0 means none")
	f.StringVar(&flags.key, "key", "", "API `key` of the service, at least 16 characters; by default each start generates a new one")
	f.StringVar(&flags.startID, "start-id", "", "`name` of this start; an outbox filled for an earlier start with this name can be sent to it")
	f.StringVar(&flags.identifier, "identifier", "", "`field` that identifies a customer: email or customer_id; by default either does")
	f.StringVar(&flags.listen, "listen", "",
		"`address` to listen on in place of the loopback address, such as 0.0.0.0, for containers; needs a token")
	f.StringVar(&flags.tokenFile, "token-file", "",
		"`file` with the token for --listen; default: that of $"+remote.TokenVariable+", or a new one")
	f.StringSliceVar(&flags.allowHosts, "allow-host", nil,
		"accept this host `name` too, such as that of a container; NAME:PORT if its port differs")
	cmd.AddCommand(newEnv(), newReset(s), newFault(s), newMark(), newWait(s), newDump())
	return cmd
}

func runSandbox(cmd *cobra.Command, flags sandboxFlags) error {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	keepBytes, err := parseBytes(flags.keepBytes)
	if err := checkFlags(flags, keepBytes, err); err != nil {
		return err
	}
	token, err := tokenToListen(cmd, flags)
	if err != nil {
		return err
	}
	seed, err := readSeed(cmd, flags.seed)
	if err != nil {
		return exit.With(exit.Invalid, "seed: %w", err)
	}
	limitMemory(keepBytes)
	api, ui, err := listenTwice(flags)
	if err != nil {
		return err
	}
	box, err := sandbox.Start(sandbox.Config{Listener: api, Wrap: guard.Service(api.Addr(), flags.allowHosts),
		Keep: flags.keep, KeepBytes: keepBytes, MaxRecords: flags.maxRecords, Key: cmp.Or(flags.key, newKey()),
		Identifier: fake.Identifier(flags.identifier), Seed: seed, SeedName: flags.seed, StartID: flags.startID})
	if err != nil {
		return exit.With(exit.Unexpected, "%w", err)
	}
	defer box.Close()
	server := inspector.Server(ctx, inspector.Config{Box: box, Address: ui.Addr(), AllowHosts: flags.allowHosts, Token: token})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ui) }()
	if err := announce(cmd, []string{urlOf(api.Addr()), box.APIKey(), urlOf(ui.Addr())}); err != nil {
		shutDown(server)
		return err
	}
	select {
	case <-ctx.Done():
		shutDown(server)
		return nil
	case err := <-box.Failed():
		shutDown(server)
		return exit.With(exit.Unexpected, "%w", err)
	case err := <-served:
		return exit.With(exit.Unexpected, "the inspector no longer listens: %w", err)
	}
}

// announce writes the values of the variables that point programs at the sandbox.
func announce(cmd *cobra.Command, values []string) error {
	cmd.PrintErrf("service    %s\ninspector  %s\n", values[0], values[2])
	return shells["posix"].write(cmd, values)
}

// newKey returns an API key that obviously is not a real one.
func newKey() string { return profile.KeyPrefix + strings.ToLower(rand.Text()) }

// minKey is the length of the shortest key of --key: a shorter one would be found in texts
// that hold no key.
const minKey = 16

var isStartID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func checkFlags(flags sandboxFlags, keepBytes int64, parseErr error) error {
	switch {
	case parseErr != nil || keepBytes < 1:
		return exit.With(exit.Usage, "--keep-bytes must be a size such as 256MiB")
	case flags.keep < 1:
		return exit.With(exit.Usage, "--keep must be at least 1")
	case flags.maxRecords < 0:
		return exit.With(exit.Usage, "--max-records must not be negative")
	case flags.key != "" && (len(flags.key) < minKey || strings.ContainsFunc(flags.key, func(r rune) bool { return r <= ' ' || r > '~' })):
		return exit.With(exit.Usage, "--key must have at least %d printable ASCII characters, without white space", minKey)
	case flags.startID != "" && !isStartID.MatchString(flags.startID):
		return exit.With(exit.Usage, "--start-id must have 1 to 64 letters, digits, hyphens and underscores")
	case flags.identifier != "" && flags.identifier != string(fake.Email) && flags.identifier != string(fake.CustomerID):
		return exit.With(exit.Usage, "--identifier must be %s or %s", fake.Email, fake.CustomerID)
	case min(flags.apiPort, flags.uiPort) < 0 || max(flags.apiPort, flags.uiPort) > 65535:
		return exit.With(exit.Usage, "--api-port and --ui-port must be from 0 to 65535")
	case flags.apiPort == flags.uiPort && flags.apiPort != 0:
		return exit.With(exit.Usage, "--api-port and --ui-port must differ")
	}
	return nil
}

// limitMemory makes the garbage collector return memory before the process is much larger
// than what the sandbox keeps, unless GOMEMLIMIT sets another limit.
func limitMemory(keepBytes int64) {
	const fixed = 64 << 20
	if debug.SetMemoryLimit(-1) == math.MaxInt64 && keepBytes < math.MaxInt64/2 {
		debug.SetMemoryLimit(keepBytes + keepBytes/5 + fixed)
	}
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

// readSeed reads the seed with a name: a file, stdin or the built-in one.
func readSeed(cmd *cobra.Command, given string) (seed records.Seed, err error) {
	var data []byte
	name := given
	switch given {
	case "":
		return records.Seed{}, nil
	case "demo":
		return records.Demo(), nil
	case "-":
		name = "stdin"
		data, err = io.ReadAll(cmd.InOrStdin())
	default:
		if name, err = filepath.Abs(given); err != nil { // for the error: go run -C changes the folder
			return nil, err
		}
		data, err = os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(given, `./\`) {
			return nil, fmt.Errorf("%w; the built-in seed is \"demo\"", err)
		}
	}
	if err == nil {
		if seed, err = records.ParseSeed(data); err != nil {
			err = fmt.Errorf("%s: %w", name, err)
		}
	}
	return seed, err
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
