package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/messaging-go/messaging/benchmarks/internal/canned"
	"github.com/messaging-go/messaging/benchmarks/internal/peers"
)

// scale is the amount of work of a run.
type scale struct {
	budget time.Duration // after this time, only the first round of an experiment starts

	rounds     int // of most experiments
	fewRounds  int // of long experiments
	manyRounds int // of short and noisy experiments
	turns      int // rounds of the trigger, the shortest and noisiest experiment
	prepares   int // rounds of preparing a broadcast
	rows       int // of a long list
	peerRows   int // of the list that each peer walks
	readAhead  int // number of pages
	inFlight   int // calls in flight
	waves      int // calls per call in flight
	bursts     int
	calls      int // sequential calls of one round
	broadcast  int // number of customers
}

var (
	fullScale = scale{rounds: 9, fewRounds: 3, manyRounds: 25, turns: 100, prepares: 20, rows: 1_000_000, peerRows: 200_000, readAhead: 200,
		inFlight: 256, waves: 100, bursts: 10, calls: 500, broadcast: 100_000}
	quickScale = scale{budget: 30 * time.Second,
		rounds: 3, fewRounds: 1, manyRounds: 7, turns: 25, prepares: 5, rows: 50_000, peerRows: 10_000, readAhead: 25,
		inFlight: 256, waves: 20, bursts: 3, calls: 200, broadcast: 100_000}
)

// stage holds what the experiments need: the server, which runs in another
// process, and the walker, a program that walks a list in another process.
type stage struct {
	canned.Addresses
	scale
	walker string
	close  func()
}

// newStage builds the walker and starts the server. It makes
// http.DefaultTransport trust the server, since the transports of the clients are
// copies of it.
func newStage(ctx context.Context, scale scale) (*stage, error) {
	walker, removeWalker, err := buildWalker(ctx)
	if err != nil {
		return nil, err
	}
	addresses, stopServer, err := startServer(ctx, scale.peerRows)
	s := &stage{Addresses: addresses, scale: scale, walker: walker, close: func() {
		stopServer()
		removeWalker()
	}}
	if err == nil {
		http.DefaultTransport.(*http.Transport).TLSClientConfig, err = s.Trust()
	}
	if err != nil {
		s.close()
		return nil, fmt.Errorf("start the server: %w", err)
	}
	return s, nil
}

// roleVariable is the environment variable that makes a process the server.
const roleVariable = "MESSAGING_BENCHMARKS_SERVE_ROWS"

// startServer runs this program as a child process, which becomes the server.
func startServer(ctx context.Context, rows int) (addresses canned.Addresses, stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return addresses, func() {}, err
	}
	command := exec.CommandContext(ctx, self)
	command.Env = append(os.Environ(), fmt.Sprint(roleVariable, "=", rows))
	command.Stderr = os.Stderr
	command.WaitDelay = time.Second
	in, inErr := command.StdinPipe()
	out, outErr := command.StdoutPipe()
	if err := errors.Join(inErr, outErr, command.Start()); err != nil {
		return addresses, func() {}, err
	}
	stop = func() {
		_ = in.Close()
		_ = command.Wait()
	}
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &addresses)
	}
	return addresses, stop, err
}

// isServer reports whether this process is the server.
func isServer() bool { return os.Getenv(roleVariable) != "" }

// serve serves until standard input is closed, which happens at the latest when the parent
// process ends.
func serve() error {
	rows, err := strconv.Atoi(os.Getenv(roleVariable))
	if err != nil {
		return err
	}
	lists := map[string]http.Handler{peers.Messaging.Name: canned.List(peers.Messaging.Service, rows)}
	for _, peer := range peers.All() {
		lists[peer.Name] = canned.List(peer.Service, rows)
	}
	return canned.Serve(canned.Messaging, lists, os.Stdin, os.Stdout)
}
