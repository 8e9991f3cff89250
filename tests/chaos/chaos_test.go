package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"golang.org/x/net/http2"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/faultserver"
	"github.com/messaging-go/messaging/internal/kit/scripted"
)

// TestMain fails the package when any test leaves a goroutine behind.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestChaosKeepsEveryPromise sends thousands of calls, whose contexts end at random,
// to a service that treats each request at random. Then it compares the outcome of
// every call with what the service has carried out.
//
// MESSAGING_CHAOS_CALLS sets the number of calls, and MESSAGING_CHAOS_SEED repeats
// the random numbers of an earlier run.
func TestChaosKeepsEveryPromise(t *testing.T) {
	t.Run("over HTTP/1.1", func(t *testing.T) { runChaos(t, overHTTP1) })
	t.Run("over HTTP/2", func(t *testing.T) { runChaos(t, overHTTP2) })
}

func runChaos(t *testing.T, protocol func(act faultserver.Step) chaosProtocol) {
	const fewest, rounds = 1000, 10
	calls := max(fewest, int(numberFrom(t, "MESSAGING_CHAOS_CALLS", fewest)))
	seed := numberFrom(t, "MESSAGING_CHAOS_SEED", rand.Uint64N(1_000_000))
	t.Logf("MESSAGING_CHAOS_CALLS=%d MESSAGING_CHAOS_SEED=%d", calls, seed)

	// On a busy machine most calls time out, so that it can take several rounds until
	// everything has occurred.
	outcomes, missing := make(map[string]int), []string(nil)
	for round := range uint64(rounds) {
		missing = runChaosRound(t, seed+round, calls, protocol, outcomes)
		if len(missing) == 0 || t.Failed() {
			break
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(outcomes)) {
		t.Logf("%6d × %s", outcomes[outcome], outcome)
	}
	assert.Empty(t, missing, "this never occurred")
}

// runChaosRound adds what became of the calls to outcomes, and returns the outcomes
// and fates that have not occurred.
func runChaosRound(t *testing.T, seed uint64, calls int, protocol func(act faultserver.Step) chaosProtocol,
	outcomes map[string]int) (missing []string) {
	service := startChaosService(t, seed, protocol)
	errs := sendInChaos(t, seed, calls, service.clients(t))
	service.stop()

	for i, err := range errs {
		carriedOut := service.carriedOut[i]
		outcomes[chaosOutcome(err, carriedOut)]++
		if broken := brokenPromise(err, carriedOut); broken != "" {
			t.Errorf("%s: call %d was carried out %d times, was met by %q, and returned: %v", broken, i, carriedOut, service.met[i], err)
		}
	}
	for _, fate := range service.fates {
		if service.played[fate.name] == 0 {
			missing = append(missing, fate.name)
		}
	}
	for _, outcome := range []string{
		"not sent, not carried out", "rejected, not carried out", "unknown, not carried out", "unknown, carried out",
		"success, carried out", "accepted with an error, carried out", "too late, not carried out",
	} {
		if outcomes[outcome] == 0 {
			missing = append(missing, outcome)
		}
	}
	return missing
}

// numberFrom reads a number from the environment.
func numberFrom(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text, ok := os.LookupEnv(variable)
	if !ok {
		return otherwise
	}
	number, err := strconv.ParseUint(text, 10, 63)
	require.NoError(t, err, variable)
	return number
}

// brokenPromise describes the guarantee that a call violates, or returns "".
func brokenPromise(err error, carriedOut int) string {
	delivery := messaging.DeliveryOf(err)
	switch {
	case carriedOut > 1:
		return "sent twice"
	case carriedOut == 1 && (delivery == messaging.DeliveryNotSent || delivery == messaging.DeliveryRejected):
		return "carried out in spite of " + delivery.String()
	case carriedOut == 0 && delivery == messaging.DeliveryAccepted:
		return "not carried out in spite of success"
	}
	return ""
}

func TestChaosNoticesABrokenPromise(t *testing.T) {
	notSent := new(messaging.ValidationError)
	assert.Equal(t, "sent twice", brokenPromise(nil, 2))
	assert.Equal(t, "sent twice", brokenPromise(io.EOF, 2))
	assert.Equal(t, "carried out in spite of not sent", brokenPromise(notSent, 1))
	assert.Equal(t, "not carried out in spite of success", brokenPromise(nil, 0))
	assert.Empty(t, brokenPromise(nil, 1))
	assert.Empty(t, brokenPromise(notSent, 0))
	assert.Empty(t, brokenPromise(io.EOF, 0))
	assert.Empty(t, brokenPromise(io.EOF, 1))
}

func chaosOutcome(err error, carriedOut int) string {
	said := messaging.DeliveryOf(err).String()
	switch {
	case err == nil:
		said = "success"
	case errors.Is(err, messaging.ErrNotAfter):
		said = "too late"
	case messaging.DeliveryOf(err) == messaging.DeliveryAccepted:
		said = "accepted with an error"
	}
	if carriedOut == 0 {
		return said + ", not carried out"
	}
	return said + ", carried out"
}

// sendInChaos makes every call, a few dozen at a time, and returns their errors.
func sendInChaos(t *testing.T, seed uint64, calls int, clients []*messaging.Client) []error {
	const callers = 32
	errs := make([]error, calls)
	var next atomic.Int64
	var running sync.WaitGroup
	for caller := range uint64(callers) {
		running.Go(func() {
			random := rand.New(rand.NewPCG(seed, caller))
			for i := int(next.Add(1) - 1); i < calls; i = int(next.Add(1) - 1) {
				ctx, cancel := chaosContext(t.Context(), random)
				send := chaosSends[random.IntN(len(chaosSends))]
				errs[i] = send(ctx, clients[random.IntN(len(clients))], fmt.Sprintf("call-%d.", i), chaosLimit(random)...)
				cancel()
			}
		})
	}
	running.Wait()
	return errs
}

// chaosSends are all sends. Each has the id in its body.
var chaosSends = []func(ctx context.Context, client *messaging.Client, id string, opts ...messaging.RequestOption) error{
	func(ctx context.Context, client *messaging.Client, id string, opts ...messaging.RequestOption) error {
		params := scripted.BroadcastTo(scripted.PersonalEmail)
		params.Subject = id
		_, err := client.Broadcasts.SendEmail(ctx, params, opts...)
		return err
	},
	func(ctx context.Context, client *messaging.Client, id string, opts ...messaging.RequestOption) error {
		params := messaging.PushBroadcastParams{Subject: id, Message: "Hello", To: messaging.ToSegments("s-1")}
		_, err := client.Broadcasts.SendPush(ctx, params, opts...)
		return err
	},
	func(ctx context.Context, client *messaging.Client, id string, opts ...messaging.RequestOption) error {
		_, err := client.Events.Create(ctx,
			messaging.EventCreateParams{Name: id, Description: "An event", Parameters: []messaging.EventParameter{}}, opts...)
		return err
	},
	func(ctx context.Context, client *messaging.Client, id string, opts ...messaging.RequestOption) error {
		_, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: id, Email: scripted.PersonalEmail}, opts...)
		return err
	},
	func(ctx context.Context, client *messaging.Client, id string, opts ...messaging.RequestOption) error {
		req := messaging.Request{Method: http.MethodPost, Path: "/v1/tags", Body: id, Into: new(struct{ ID string })}
		_, err := client.Do(ctx, req, opts...)
		return err
	},
}

// chaosLimit returns a time limit for some calls. It can pass before an attempt, while the
// attempt connects or writes, or during a wait.
func chaosLimit(random *rand.Rand) []messaging.RequestOption {
	patience := time.Duration(random.IntN(4000)) * time.Microsecond
	if random.IntN(4) > 0 {
		return nil
	}
	return []messaging.RequestOption{messaging.WithNotAfter(time.Now().Add(patience))}
}

// chaosContext returns a context that ends early for some calls.
func chaosContext(ctx context.Context, random *rand.Rand) (context.Context, context.CancelFunc) {
	patience := time.Duration(random.IntN(20_000)) * time.Microsecond
	switch random.IntN(16) {
	case 0:
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		return ctx, cancel
	case 1:
		ctx, cancel := context.WithCancel(ctx)
		timer := time.AfterFunc(patience, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	case 2:
		return context.WithTimeout(ctx, patience)
	default:
		return context.WithCancel(ctx)
	}
}

// chaosProtocol is one way for requests to reach the service.
type chaosProtocol struct {
	start func(tb testing.TB, scripts ...faultserver.Script) *faultserver.Server
	// serve plays the step for each request of a connection.
	serve func(request faultserver.Step) faultserver.Step
	fates []chaosFate
	http2 bool
}

// chaosFate is what may happen to a request, and its weight among the others.
type chaosFate struct {
	name  string
	often int
	steps faultserver.Script
}

// overHTTP1 adds faults below HTTP: bytes that are missing or not HTTP, and
// connections that end in any state.
func overHTTP1(act faultserver.Step) chaosProtocol {
	read, closes := faultserver.ReadRequest, faultserver.Close
	broken := func(steps ...faultserver.Step) faultserver.Script { return append(steps, faultserver.Reset) }
	written := func(text string) faultserver.Script {
		return faultserver.Script{read, act, faultserver.Write(text), closes}
	}
	return chaosProtocol{
		start: faultserver.Start,
		serve: func(request faultserver.Step) faultserver.Step {
			return faultserver.Forever(faultserver.Await, request)
		},
		fates: append(commonFates(act, faultserver.Reset),
			chaosFate{"broken before anything was read", 3, broken()},
			chaosFate{"broken when half of the head was read", 3, broken(faultserver.ReadBytes(40))},
			chaosFate{"broken within the body", 3, broken(faultserver.ReadHead, faultserver.ReadBytes(10))},
			chaosFate{"carried out, and the connection closed", 3, faultserver.Script{read, act, closes}},
			chaosFate{"carried out, answered, and not kept alive", 4,
				faultserver.Script{read, act, faultserver.Respond(200, scripted.Success), closes}},
			chaosFate{"carried out, and answered in another protocol", 2, written("SSH-2.0-OpenSSH_9.6\r\n\r\n")},
			chaosFate{"carried out, and answered by half a status line", 2, written("HTTP/1.1 20")},
			chaosFate{"carried out, and answered with two lengths", 2,
				written("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n{}   ")},
		),
	}
}

// overHTTP2 adds the frames with which HTTP/2 ends a request, each before and after
// it was carried out. Some of them claim that it was not carried out, and some
// servers do so wrongly.
func overHTTP2(act faultserver.Step) chaosProtocol {
	read := faultserver.ReadRequest
	fates := commonFates(act, faultserver.ResetStream(http2.ErrCodeInternal))
	add := func(name string, often int, end faultserver.Step) {
		fates = append(fates, chaosFate{name, often, faultserver.Script{read, end}},
			chaosFate{"carried out, and " + name, often, faultserver.Script{read, act, end}})
	}
	for _, code := range []http2.ErrCode{
		http2.ErrCodeProtocol, http2.ErrCodeRefusedStream, http2.ErrCodeCancel, http2.ErrCodeEnhanceYourCalm,
	} {
		add("reset with "+code.String(), 2, faultserver.ResetStream(code))
	}
	// These end the other requests on the connection, too.
	add("said not to have been seen", 1, faultserver.GoAway(http2.ErrCodeNo, true))
	add("lost with its connection", 1, faultserver.Reset)
	fates = append(fates, chaosFate{"carried out, said to be the last one, and answered", 2,
		faultserver.Script{read, act, faultserver.GoAway(http2.ErrCodeNo, false), faultserver.Respond(200, scripted.Success)}})
	return chaosProtocol{
		start: faultserver.StartHTTP2,
		serve: func(request faultserver.Step) faultserver.Step { return faultserver.Streams(request) },
		fates: fates,
		http2: true,
	}
}

// commonFates are the fates of a request over any protocol: act carries it out,
// and end ends it without a response. A service that refuses with 429 or success
// false has carried out nothing; the client has to rely on that.
func commonFates(act, end faultserver.Step) []chaosFate {
	const (
		yes        = `{"success":true,"data":{"id":"e-1"},"message":"Done"}`
		unreadable = `{"success":true,"data":[1],"message":"Done"}`
		login      = "<html>Log in</html>"
	)
	read, respond, begin, hang := faultserver.ReadRequest, faultserver.Respond, faultserver.RespondPartly, faultserver.Hang
	fates := []chaosFate{
		{"carried out, and answered", 40, faultserver.Script{read, act, respond(200, yes)}},
		{"carried out, and answered 202", 2, faultserver.Script{read, act, respond(202, yes)}},
		{"carried out, and answered with data that cannot be decoded", 4, faultserver.Script{read, act, respond(200, unreadable)}},
		{"carried out, and the response lost", 4, faultserver.Script{read, act, end}},
		{"lost after it was read", 3, faultserver.Script{read, end}},
		{"carried out, and never answered", 1, faultserver.Script{read, act, hang}},
		{"never answered", 1, faultserver.Script{read, hang}},
		{"carried out, and the response cut short", 3, faultserver.Script{read, act, begin(200, `{"success":tr`), end}},
		{"carried out, and the response complete but for its end", 3, faultserver.Script{read, act, begin(200, yes), end}},
		{"carried out, and answered by half a document", 2, faultserver.Script{read, act, respond(200, `{"success":tr`)}},
		{"not carried out, and answered by a login page", 2, faultserver.Script{read, respond(200, login)}},
		{"carried out, and answered by a login page", 2, faultserver.Script{read, act, respond(200, login)}},
		{"refused with success false", 3, faultserver.Script{read, respond(200, scripted.Failure)}},
		{"refused with 422", 3, faultserver.Script{read, respond(422, scripted.Failure)}},
		{"refused with 429", 4, faultserver.Script{read, respond(429, scripted.Failure, "Retry-After: 0")}},
	}
	either := func(name string, often int, respond faultserver.Step) {
		fates = append(fates, chaosFate{name, often, faultserver.Script{read, respond}},
			chaosFate{"carried out, and " + name, often, faultserver.Script{read, act, respond}})
	}
	for _, status := range []int{500, 502, 503} {
		either(fmt.Sprint("answered ", status), 2, respond(status, login, "Retry-After: 0"))
	}
	for _, status := range []int{301, 303, 307, 308} {
		either(fmt.Sprint("redirected with ", status), 1, respond(status, "", "Location: /v1/elsewhere"))
	}
	return fates
}

// chaosService plays a random fate for each request, and records which requests it has
// carried out.
type chaosService struct {
	*faultserver.Server
	chaosProtocol
	nowhere  string // an address that refuses connections
	running  sync.WaitGroup
	stopping chan struct{}
	stop     func() // waits until nothing is in flight

	mu         sync.Mutex
	random     *rand.Rand
	deck       []chaosFate // what is still to be dealt
	outage     int         // dials that are still to be refused
	carriedOut map[int]int
	met        map[int][]string // the fates of each call
	played     map[string]int   // how often each fate
}

func startChaosService(t *testing.T, seed uint64, protocol func(act faultserver.Step) chaosProtocol) *chaosService {
	t.Helper()
	s := &chaosService{stopping: make(chan struct{}), nowhere: faultserver.ClosedAddress(t), random: rand.New(rand.NewPCG(seed, seed)),
		carriedOut: map[int]int{}, met: map[int][]string{}, played: map[string]int{}}
	s.chaosProtocol = protocol(s.act)
	s.Server = s.start(t, faultserver.Script{s.acceptOrReset, s.serve(s.playFate)})
	s.stop = sync.OnceFunc(func() {
		close(s.stopping)
		s.Stop()
		s.running.Wait()
	})
	t.Cleanup(s.stop)
	return s
}

// acceptOrReset resets some connections at once.
func (s *chaosService) acceptOrReset(c *faultserver.Connection) error {
	if s.roll(20) == 0 {
		return faultserver.Reset(c)
	}
	return nil
}

// playFate plays a random fate for a request.
func (s *chaosService) playFate(c *faultserver.Connection) error {
	fate := s.draw()
	var err error
	for _, step := range fate.steps {
		if err = step(c); err != nil {
			break
		}
	}
	if call, ok := callIn(c.Request()); ok {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.met[call] = append(s.met[call], fate.name)
	}
	return err
}

// act carries out a request.
func (s *chaosService) act(c *faultserver.Connection) error {
	call, ok := callIn(c.Request())
	if !ok {
		return errors.New("the request names no call")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.carriedOut[call]++
	return nil
}

var chaosCallID = regexp.MustCompile(`call-(\d+)\.`)

// callIn is the number of the call that a request belongs to.
func callIn(request faultserver.Request) (call int, ok bool) {
	id := chaosCallID.FindSubmatch(request.Body)
	if id == nil {
		return 0, false
	}
	call, err := strconv.Atoi(string(id[1]))
	return call, err == nil
}

// draw returns the next fate of a shuffled list, in which each occurs with its weight.
func (s *chaosService) draw() chaosFate {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.deck) == 0 {
		for _, fate := range s.fates {
			s.deck = append(s.deck, slices.Repeat([]chaosFate{fate}, fate.often)...)
		}
		s.random.Shuffle(len(s.deck), func(i, j int) { s.deck[i], s.deck[j] = s.deck[j], s.deck[i] })
	}
	last := len(s.deck) - 1
	fate := s.deck[last]
	s.deck = s.deck[:last]
	s.played[fate.name]++
	return fate
}

// roll returns a random number below sides.
func (s *chaosService) roll(sides int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(sides)
}

// clients returns clients that differ in their transports and in their numbers of
// attempts.
func (s *chaosService) clients(t *testing.T) []*messaging.Client {
	t.Helper()
	var clients []*messaging.Client
	for i, attempts := range []int{3, 2, 6, 1} {
		opts := []messaging.Option{messaging.WithAttemptTimeout(500 * time.Millisecond),
			messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: attempts, MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond})}
		address := s.URL()
		over := func(change func(http.RoundTripper) http.RoundTripper) {
			clients = append(clients, scripted.NewClientOver(t, address, &http.Client{Transport: change(s.transport(t))}, opts...))
		}
		over(func(inner http.RoundTripper) http.RoundTripper { return inner })
		over(func(inner http.RoundTripper) http.RoundTripper {
			return &abandoningTransport{inner: inner, service: s, random: rand.New(rand.NewPCG(uint64(i), 0))}
		})
		over(func(inner http.RoundTripper) http.RoundTripper {
			return &abandoningTransport{inner: inner, service: s, random: rand.New(rand.NewPCG(uint64(i), 1)), detached: true}
		})
		if !s.http2 { // the transport of the client itself speaks HTTP/1.1
			clients = append(clients, scripted.NewClientOnOwnTransport(t, address, s.transport(t), opts...))
		}
	}
	return clients
}

func (s *chaosService) transport(t *testing.T) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: s.dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16,
		TLSClientConfig: faultserver.ClientTLS()}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// abandoningTransport gives up on some requests early, and goes on sending them:
// until the attempt is cancelled, or longer if it is detached.
type abandoningTransport struct {
	inner    http.RoundTripper
	service  *chaosService
	detached bool

	mu     sync.Mutex
	random *rand.Rand
}

func (g *abandoningTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	g.mu.Lock()
	patience := time.Duration(g.random.IntN(3000)) * time.Microsecond
	g.mu.Unlock()
	done := func() {}
	if g.detached {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(req.Context()), time.Second)
		req, done = req.Clone(ctx), cancel
	}
	type answer struct {
		resp *http.Response
		err  error
	}
	answered, gone := make(chan answer), make(chan struct{})
	g.service.running.Go(func() {
		resp, err := g.inner.RoundTrip(req)
		select {
		case answered <- answer{resp, err}:
		case <-gone:
			done()
			if err == nil {
				_ = resp.Body.Close()
			}
		}
	})
	select {
	case a := <-answered: // whose body is read under its context
		return a.resp, a.err
	case <-time.After(patience):
		close(gone)
		return nil, scripted.ErrDialTimeout
	}
}

// dial connects to the service. Some dials are refused, several in a row, and some hang.
func (s *chaosService) dial(ctx context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	stalls := s.random.IntN(40) == 0
	if s.outage == 0 && s.random.IntN(10) == 0 {
		s.outage = 1 + s.random.IntN(6)
	}
	refuses := s.outage > 0
	if refuses {
		s.outage--
	}
	pause := time.Duration(s.random.IntN(5000)) * time.Microsecond
	s.mu.Unlock()
	time.Sleep(pause) // long enough for a transport to give up meanwhile
	switch {
	case stalls:
		select {
		case <-ctx.Done():
		case <-s.stopping: // net/http keeps a dial for the next request
		}
		return nil, scripted.ErrDialTimeout
	case refuses:
		address = s.nowhere
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}
