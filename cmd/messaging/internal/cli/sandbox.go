package cli

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/messaging-go/messaging/cmd/messaging/internal/exit"
	"github.com/messaging-go/messaging/cmd/messaging/internal/history"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector"
	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/profile"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
	"github.com/messaging-go/messaging/internal/service"
)

// sandboxFlags are the flags of the sandbox command.
type sandboxFlags struct {
	sandbox.Config
	apiPort, uiPort   uint16
	keepBytes         string
	listen, tokenFile string
	allowHosts        []string
	log               bool
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
		RunE: func(cmd *cobra.Command, _ []string) error { return s.runSandbox(cmd, flags) },
	}
	f := cmd.Flags()
	f.Uint16Var(&flags.apiPort, "api-port", 8077, "port of the service; 0 picks a free one")
	f.Uint16Var(&flags.uiPort, "ui-port", 8078, "port of the inspector; 0 picks a free one")
	f.StringVar(&flags.SeedName, "seed", "", "JSON `file` of "+records.Names("and")+`, "-" for stdin, or "demo"`)
	f.IntVar(&flags.Keep, "keep", 10_000, "how many requests to keep")
	f.StringVar(&flags.keepBytes, "keep-bytes", "256MiB", "approximate memory limit for requests")
	f.IntVar(&flags.MaxRecords, "max-records", 100_000, "how many records of each kind requests can create, their only limit; 0 means none")
	f.StringVar(&flags.Key, "key", "", "API `key` of the service, at least 16 characters; by default each start generates a new one")
	f.StringVar(&flags.StartID, "start-id", "", "`name` of this start; an outbox filled for an earlier start with this name can be sent to it")
	f.StringVar((*string)(&flags.Identifier), "identifier", "",
		"`field` that identifies a customer: email or customer_id; by default either does")
	f.StringVar(&flags.listen, "listen", "",
		"`address` to listen on in place of the loopback address, such as 0.0.0.0, for containers; needs a token")
	f.StringVar(&flags.tokenFile, "token-file", "",
		"`file` with the token for --listen; default: that of $"+profile.TokenVariable+", or a new one")
	f.StringSliceVar(&flags.allowHosts, "allow-host", nil,
		"serve this host `name` too, on any port, such as that of a container")
	f.BoolVar(&flags.log, "log", false, "write a line for each request to stderr, without addresses")
	cmd.AddCommand(newEnv(s), newReset(s), newFault(s), newMark(s), newWait(s), newDump(s))
	return cmd
}

func (s *settings) runSandbox(cmd *cobra.Command, flags sandboxFlags) error {
	ctx := cmd.Context()
	keepBytes, err := humanize.ParseBytes(flags.keepBytes)
	if err != nil || keepBytes < 1 || keepBytes > math.MaxInt64 {
		return exit.With(exit.Usage, "--keep-bytes must be a size such as 256MiB")
	}
	if err := flags.check(); err != nil {
		return err
	}
	token, err := s.tokenToListen(flags)
	if err != nil {
		return err
	}
	if flags.Seed, err = readSeed(cmd, flags.SeedName); err != nil {
		return err
	}
	flags.KeepBytes, flags.Key = int64(keepBytes), cmp.Or(flags.Key, newKey())
	limitMemory(flags.KeepBytes)
	api, err := flags.listenOn("--api-port", flags.apiPort)
	if err != nil {
		return err
	}
	ui, err := flags.listenOn("--ui-port", flags.uiPort)
	if err != nil {
		return errors.Join(err, api.Close())
	}
	flags.Listener, flags.Wrap = api, guard.Service(api.Addr(), flags.allowHosts)
	if flags.log {
		flags.Log = s.log
	}
	box, err := sandbox.Start(flags.Config)
	if err != nil {
		return exit.With(exit.Unexpected, "%w", err)
	}
	defer box.Close()
	server := inspector.Server(ctx, box, guard.Config{Address: ui.Addr(), AllowHosts: flags.allowHosts, Token: token})
	served := make(chan error, 1)
	go func() { served <- server.Serve(ui) }()
	defer shutDown(server)
	if err := s.announce(urlOf(api.Addr()), box.APIKey(), urlOf(ui.Addr())); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-box.Failed():
		return exit.With(exit.Unexpected, "%w", err)
	case err := <-served:
		return exit.With(exit.Unexpected, "the inspector no longer listens: %w", err)
	}
}

// announce writes the values of the variables that point programs at the sandbox.
func (s *settings) announce(service, key, inspector string) error {
	s.printer.Line("service    %s\ninspector  %s", service, inspector)
	return shells["posix"].write(s.stdout, service, key, inspector)
}

// log writes a line about a request, which has nothing of what was sent but the number of its recipients.
func (s *settings) log(e *history.Entry) {
	status, to := "no response", words.Count(e.Named, "recipient")
	if e.Status != 0 {
		status = strconv.Itoa(e.Status)
	}
	switch {
	case e.Everyone:
		to = "all customers"
	case e.SegmentCount > 0:
		to += " and " + words.Count(e.SegmentCount, "segment")
	}
	s.printer.Line("%s  %s  %s  %s  %s", e.At.UTC().Format("2006-01-02T15:04:05.000Z"), cmp.Or(e.Op, "no operation"), status,
		words.Delivery(e.Delivery), to)
}

// newKey returns an API key that obviously is not a real one.
func newKey() string { return profile.KeyPrefix + strings.ToLower(rand.Text()) }

// minKey is the length of the shortest key of --key: a shorter one would be found in texts
// that hold no key.
const minKey = 16

var isStartID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

func (flags sandboxFlags) check() error {
	switch {
	case flags.Keep < 1:
		return exit.With(exit.Usage, "--keep must be at least 1")
	case flags.MaxRecords < 0:
		return exit.With(exit.Usage, "--max-records must not be negative")
	case flags.Key != "" && !isSecret(flags.Key, minKey):
		return exit.With(exit.Usage, "--key must have at least %d printable ASCII characters, without white space", minKey)
	case flags.StartID != "" && !isStartID.MatchString(flags.StartID):
		return exit.With(exit.Usage, "--start-id must have 1 to 64 letters, digits, hyphens and underscores")
	case slices.ContainsFunc(flags.allowHosts, func(name string) bool { return strings.ContainsAny(name, ":/[") && net.ParseIP(name) == nil }):
		return exit.With(exit.Usage, "--allow-host must be a name such as sandbox, or an IP address, without a port")
	case !slices.Contains([]fake.Identifier{"", fake.Email, fake.CustomerID}, flags.Identifier):
		return exit.With(exit.Usage, "--identifier must be %s or %s", fake.Email, fake.CustomerID)
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
func readSeed(cmd *cobra.Command, name string) (records.Seed, error) {
	switch name {
	case "":
		return records.Seed{}, nil
	case "demo":
		return records.Demo(), nil
	}
	data, err := readInput(cmd, name)
	if err != nil {
		return nil, fmt.Errorf("--seed: %w", err)
	}
	seed, err := records.ParseSeed(data)
	if err != nil {
		return nil, exit.With(exit.Invalid, "seed: %s: %w", name, err)
	}
	return seed, nil
}

const loopback = "127.0.0.1"

// tokenToListen returns the token for an address that other machines reach, "" for the
// loopback address. A token that it makes is printed once.
func (s *settings) tokenToListen(flags sandboxFlags) (string, error) {
	switch {
	case flags.listen == "":
		return "", nil
	case net.ParseIP(flags.listen) == nil:
		return "", exit.With(exit.Usage, "--listen must be an IP address such as 0.0.0.0, without a port; --api-port and --ui-port set the ports")
	}
	token, name := os.Getenv(profile.TokenVariable), profile.TokenVariable
	if flags.tokenFile != "" {
		content, err := os.ReadFile(flags.tokenFile)
		if err != nil {
			return "", exit.With(exit.Usage, "--token-file: %w", err)
		}
		token, name = strings.TrimSpace(string(content)), "--token-file"
	}
	isNew := token == "" && flags.tokenFile == ""
	if isNew {
		token = rand.Text() // of at least 128 bits
	} else if !isSecret(token, minToken) {
		return "", exit.With(exit.Usage, "%s: a token must have at least %d printable characters", name, minToken)
	}
	s.printer.Line("--listen: there is no encryption; use it only in a private network")
	if isNew {
		s.printer.Line("token      %s", token)
	}
	return token, nil
}

// minToken is the length of a token of 128 bits in base64.
const minToken = 22

// isSecret reports whether a key or a token is long enough, and can be in a header.
func isSecret(text string, least int) bool {
	return len(text) >= least && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// listenOn listens on a port. A port that is taken is an error: on the next port, programs would keep using the other sandbox.
func (flags sandboxFlags) listenOn(flag string, port uint16) (net.Listener, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(cmp.Or(flags.listen, loopback), fmt.Sprint(port)))
	if err != nil {
		return nil, exit.With(exit.Unexpected, "%w; pass %s to choose another port, or 0 for any free one", err, flag)
	}
	return listener, nil
}

// urlOf returns the URL of an address, as this machine reaches it.
func urlOf(address net.Addr) string {
	host, port, _ := net.SplitHostPort(address.String())
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = loopback
	}
	return "http://" + net.JoinHostPort(host, port)
}
