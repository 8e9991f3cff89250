package chaos_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/faultserver"
	"github.com/messaging-go/messaging/internal/scripted"
)

// The chaos tests send thousands of calls to a service that treats each of them
// at random, through callers that lose patience at random, and then hold what
// every call was told against what the service really did.
//
// MESSAGING_CHAOS_CALLS asks for more calls, and MESSAGING_CHAOS_SEED makes the
// dice of an earlier run fall again.

func TestChaosKeepsEveryPromise(t *testing.T) {
	t.Run("over HTTP/1.1", func(t *testing.T) { runChaos(t, overHTTP1) })
	t.Run("over HTTP/2", func(t *testing.T) { runChaos(t, overHTTP2) })
}

func runChaos(t *testing.T, protocol chaosProtocol) {
	const fewest = 2000 // below, chance alone decides over what is seen
	calls := max(fewest, int(numberFrom(t, "MESSAGING_CHAOS_CALLS", fewest)))
	seed := numberFrom(t, "MESSAGING_CHAOS_SEED", rand.Uint64N(1_000_000))
	t.Logf("MESSAGING_CHAOS_CALLS=%d MESSAGING_CHAOS_SEED=%d", calls, seed)

	service := startChaosService(t, seed, protocol)
	errs := sendInChaos(t, seed, calls, service.clients(t))
	service.stop()

	told := make(map[string]int)
	for i, err := range errs {
		carriedOut := service.carriedOut[i]
		told[chaosOutcome(err, carriedOut)]++
		if broken := brokenPromise(err, carriedOut); broken != "" {
			t.Errorf("%s: call %d was carried out %d times, was met by %q, and returned: %v", broken, i, carriedOut, service.met[i], err)
		}
	}
	for _, outcome := range slices.Sorted(maps.Keys(told)) {
		t.Logf("%6d × %s", told[outcome], outcome)
	}
	for _, fate := range protocol.fates {
		assert.Positive(t, service.played[fate.name], "this never happened: %s", fate.name)
	}
	for _, outcome := range []string{
		"not sent, not carried out", "rejected, not carried out", "unknown, not carried out", "unknown, carried out",
		"success, carried out", "accepted with an error, carried out",
	} {
		assert.Positive(t, told[outcome], "no call came to this: %s", outcome)
	}
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

// brokenPromise is what a call was promised and did not get, "" where every
// promise was kept.
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
				errs[i] = send(ctx, clients[random.IntN(len(clients))], fmt.Sprintf("call-%d.", i))
				cancel()
			}
		})
	}
	running.Wait()
	return errs
}

// chaosSends are the calls that act on the world. Each puts an id in its body.
var chaosSends = []func(ctx context.Context, client *messaging.Client, id string) error{
	func(ctx context.Context, client *messaging.Client, id string) error {
		params := scripted.BroadcastTo(scripted.PersonalEmail)
		params.Subject = id
		_, err := client.Broadcasts.SendEmail(ctx, params)
		return err
	},
	func(ctx context.Context, client *messaging.Client, id string) error {
		_, err := client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{Subject: id, Message: "Hello", To: messaging.ToSegments("s-1")})
		return err
	},
	func(ctx context.Context, client *messaging.Client, id string) error {
		_, err := client.Events.Create(ctx,
			messaging.EventCreateParams{Name: id, Description: "An event", Parameters: []messaging.EventParameter{}})
		return err
	},
	func(ctx context.Context, client *messaging.Client, id string) error {
		_, err := client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: id, Email: scripted.PersonalEmail})
		return err
	},
	func(ctx context.Context, client *messaging.Client, id string) error {
		_, err := client.Do(ctx, messaging.Request{Method: http.MethodPost, Path: "/v1/tags", Body: id, Into: new(struct{ ID string })})
		return err
	},
}

// chaosContext is that of a caller who has patience, mostly.
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
	scheme string
	tls    bool
	serve  func(*chaosService, net.Conn)
	fates  []chaosFate
}

// chaosFate is what may become of a request, and how often, among the others.
type chaosFate struct {
	name  string
	often int
	steps []chaosStep
}

type chaosStep func(*chaosVisit) error

// chaosVisit is a request on its way through its fate.
type chaosVisit struct {
	chaosRequest
	service *chaosService
	fate    string
	call    int
}

// chaosRequest is a request as a server sees it, over either protocol.
type chaosRequest interface {
	// receive reads the request to its end.
	receive() (body []byte, err error)
	answer(status int, header http.Header, body string) error
	// beginToAnswer announces more than the given body.
	beginToAnswer(body string) error
	// breakOff ends the request without another word.
	breakOff() error
	// outwait says nothing until the client has gone.
	outwait() error
}

var errChaosOver = errors.New("there is nothing left to say")

// commonFates is what can become of a request over any protocol. A service that
// refuses with 429 or success false did nothing: that much has to be believed.
func commonFates() []chaosFate {
	const (
		yes        = `{"success":true,"data":{"id":"e-1"},"message":"Done"}`
		unreadable = `{"success":true,"data":[1],"message":"Done"}`
		login      = "<html>Log in</html>"
	)
	read, act, breakOff, outwait := (*chaosVisit).read, (*chaosVisit).act, (*chaosVisit).breakOff, (*chaosVisit).outwait
	answer, begin := chaosAnswer, chaosBeginning
	redirect := []string{"Location", "/v1/elsewhere"}
	fates := []chaosFate{
		{"carried out, and answered", 40, []chaosStep{read, act, answer(200, yes)}},
		{"carried out, and answered 202", 2, []chaosStep{read, act, answer(202, yes)}},
		{"carried out, and answered in full beyond what can be read", 4, []chaosStep{read, act, answer(200, unreadable)}},
		{"carried out, and the response lost", 4, []chaosStep{read, act, breakOff}},
		{"lost after it was read", 3, []chaosStep{read, breakOff}},
		{"carried out, and answered too late", 1, []chaosStep{read, act, outwait}},
		{"never answered", 1, []chaosStep{read, outwait}},
		{"carried out, and the response cut short", 3, []chaosStep{read, act, begin(`{"success":tr`), breakOff}},
		{"carried out, and the response whole but for its end", 3, []chaosStep{read, act, begin(yes), breakOff}},
		{"carried out, and answered by half a document", 2, []chaosStep{read, act, answer(200, `{"success":tr`)}},
		{"not carried out, and answered by a login page", 2, []chaosStep{read, answer(200, login)}},
		{"carried out, and answered by a login page", 2, []chaosStep{read, act, answer(200, login)}},
		{"refused with success false", 3, []chaosStep{read, answer(200, scripted.Failure)}},
		{"refused with 422", 3, []chaosStep{read, answer(422, scripted.Failure)}},
		{"refused with 429", 4, []chaosStep{read, answer(429, scripted.Failure, "Retry-After", "0")}},
	}
	for _, status := range []int{500, 502, 503} {
		fates = append(fates,
			chaosFate{fmt.Sprint(status), 2, []chaosStep{read, answer(status, login, "Retry-After", "0")}},
			chaosFate{fmt.Sprint("carried out, and answered ", status), 2, []chaosStep{read, act, answer(status, login, "Retry-After", "0")}})
	}
	for _, status := range []int{301, 303, 307, 308} {
		fates = append(fates,
			chaosFate{fmt.Sprint("redirected with ", status), 1, []chaosStep{read, answer(status, "", redirect...)}},
			chaosFate{fmt.Sprint("carried out, and redirected with ", status), 1, []chaosStep{read, act, answer(status, "", redirect...)}})
	}
	return fates
}

// chaosService carries out requests, or does not, and keeps the books.
type chaosService struct {
	chaosProtocol
	listener net.Listener
	nowhere  string // an address that refuses connections
	running  sync.WaitGroup
	stopping chan struct{}
	stop     func() // so that what is still on its way is carried out

	mu          sync.Mutex
	random      *rand.Rand
	deck        []chaosFate // what is still to be dealt
	outage      int         // dials that are still to be refused
	connections []net.Conn
	stopped     bool
	carriedOut  map[int]int
	met         map[int][]string // the fates of each call
	played      map[string]int   // how often each fate
}

func startChaosService(t *testing.T, seed uint64, protocol chaosProtocol) *chaosService {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	if protocol.tls {
		lender := httptest.NewTLSServer(nil)
		listener = tls.NewListener(listener, &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"h2"}})
		lender.Close()
	}
	s := &chaosService{chaosProtocol: protocol, listener: listener, stopping: make(chan struct{}), nowhere: faultserver.ClosedAddress(t),
		random: rand.New(rand.NewPCG(seed, seed)), carriedOut: map[int]int{}, met: map[int][]string{}, played: map[string]int{}}
	s.stop = sync.OnceFunc(s.end)
	s.running.Go(s.accept)
	t.Cleanup(s.stop)
	return s
}

func (s *chaosService) end() {
	close(s.stopping)
	_ = s.listener.Close()
	s.mu.Lock()
	s.stopped = true
	for _, conn := range s.connections {
		_ = conn.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
}

func (s *chaosService) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.running.Go(func() {
			defer func() { _ = conn.Close() }()
			if !s.keep(conn) {
				return
			}
			if s.roll(20) == 0 {
				resetInChaos(conn)
				return
			}
			s.serve(s, conn)
		})
	}
}

// keep remembers a connection for stop to close, unless it has come too late.
func (s *chaosService) keep(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.connections = append(s.connections, conn)
	return !s.stopped
}

// roll throws a die.
func (s *chaosService) roll(sides int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(sides)
}

// clients returns clients that differ in how they connect, how often they try,
// and in what lies between them and net/http.
func (s *chaosService) clients(t *testing.T) []*messaging.Client {
	t.Helper()
	var clients []*messaging.Client
	for i, attempts := range []int{3, 2, 6, 1} {
		opts := []messaging.Option{messaging.WithAttemptTimeout(500 * time.Millisecond),
			messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: attempts, MinWait: time.Millisecond, MaxWait: 2 * time.Millisecond})}
		address := s.scheme + "://" + s.listener.Addr().String()
		over := func(change func(http.RoundTripper) http.RoundTripper) {
			clients = append(clients, scripted.NewClientOver(t, address, &http.Client{Transport: change(s.transport(t))}, opts...))
		}
		over(func(inner http.RoundTripper) http.RoundTripper { return inner })
		over(func(inner http.RoundTripper) http.RoundTripper {
			return &chaosGivingUp{inner: inner, service: s, random: rand.New(rand.NewPCG(uint64(i), 0))}
		})
		over(func(inner http.RoundTripper) http.RoundTripper {
			return &chaosGivingUp{inner: inner, service: s, random: rand.New(rand.NewPCG(uint64(i), 1)), detached: true}
		})
		if !s.tls { // the transport of the client itself speaks HTTP/1.1
			clients = append(clients, scripted.NewClientOnOwnTransport(t, address, s.transport(t), opts...))
		}
	}
	return clients
}

func (s *chaosService) transport(t *testing.T) *http.Transport {
	t.Helper()
	transport := &http.Transport{DialContext: s.dial, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: 16,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// chaosGivingUp is a transport that gives up on some requests early, and goes on
// sending them: until the attempt is cancelled, or where it is detached, even then.
type chaosGivingUp struct {
	inner    http.RoundTripper
	service  *chaosService
	detached bool

	mu     sync.Mutex
	random *rand.Rand
}

func (g *chaosGivingUp) RoundTrip(req *http.Request) (*http.Response, error) {
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

// dial connects to the service, which is out of reach now and then, and at times
// for several dials in a row.
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

// play leads a request through its fate.
func (s *chaosService) play(r chaosRequest) error {
	fate := s.draw()
	visit := &chaosVisit{chaosRequest: r, service: s, fate: fate.name, call: -1}
	for _, step := range fate.steps {
		if err := step(visit); err != nil {
			return err
		}
	}
	return nil
}

// draw deals the fates like cards, so that each has its turn.
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

var chaosCallID = regexp.MustCompile(`call-(\d+)\.`)

func (v *chaosVisit) read() error {
	body, err := v.receive()
	if err != nil {
		return err
	}
	id := chaosCallID.FindSubmatch(body)
	if id == nil {
		return errors.New("the request names no call")
	}
	v.call, _ = strconv.Atoi(string(id[1]))
	v.service.mu.Lock()
	defer v.service.mu.Unlock()
	v.service.met[v.call] = append(v.service.met[v.call], v.fate)
	return nil
}

func (v *chaosVisit) act() error {
	v.service.mu.Lock()
	defer v.service.mu.Unlock()
	v.service.carriedOut[v.call]++
	return nil
}

func chaosAnswer(status int, body string, header ...string) chaosStep {
	fields := http.Header{}
	for i := 0; i < len(header); i += 2 {
		fields.Set(header[i], header[i+1])
	}
	return func(v *chaosVisit) error { return v.answer(status, fields, body) }
}

func chaosBeginning(body string) chaosStep {
	return func(v *chaosVisit) error { return v.beginToAnswer(body) }
}

func resetInChaos(conn net.Conn) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

// overHTTP1 adds what happens below HTTP: bytes that are missing, or are none of
// HTTP's, and connections that end in any state.
var overHTTP1 = chaosProtocol{scheme: "http", serve: serveChaosHTTP1, fates: append(commonFates(),
	chaosFate{"broken before anything was read", 3, []chaosStep{onConnection(breakConnection)}},
	chaosFate{"broken when half of the head was read", 3, []chaosStep{onConnection(readBytes(40)), onConnection(breakConnection)}},
	chaosFate{"broken within the body", 3, []chaosStep{onConnection(readHead), onConnection(readBytes(10)), onConnection(breakConnection)}},
	chaosFate{"carried out, and the connection closed in good order",
		3, []chaosStep{(*chaosVisit).read, (*chaosVisit).act, onConnection(closeConnection)}},
	chaosFate{"carried out, answered, and not kept alive", 4, []chaosStep{(*chaosVisit).read, (*chaosVisit).act,
		chaosAnswer(200, scripted.Success), onConnection(closeConnection)}},
	chaosFate{"carried out, and answered in another protocol", 2, []chaosStep{(*chaosVisit).read, (*chaosVisit).act,
		onConnection(writeBytes("SSH-2.0-OpenSSH_9.6\r\n\r\n")), onConnection(closeConnection)}},
	chaosFate{"carried out, and answered by half a status line", 2, []chaosStep{(*chaosVisit).read, (*chaosVisit).act,
		onConnection(writeBytes("HTTP/1.1 20")), onConnection(closeConnection)}},
	chaosFate{"carried out, and answered with two lengths", 2, []chaosStep{(*chaosVisit).read, (*chaosVisit).act,
		onConnection(writeBytes("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\n{}   ")), onConnection(closeConnection)}},
)}

// chaosHTTP1 is a connection that carries one request after the other.
type chaosHTTP1 struct {
	net.Conn
	reader *bufio.Reader
}

func serveChaosHTTP1(s *chaosService, conn net.Conn) {
	c := &chaosHTTP1{conn, bufio.NewReader(conn)}
	for {
		if _, err := c.reader.Peek(1); err != nil || s.play(c) != nil {
			return
		}
	}
}

func (c *chaosHTTP1) receive() ([]byte, error) {
	request, err := http.ReadRequest(c.reader)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(request.Body)
}

func (c *chaosHTTP1) answer(status int, header http.Header, body string) error {
	return c.write(status, header, len(body), body)
}

func (c *chaosHTTP1) beginToAnswer(body string) error { return c.write(200, nil, len(body)+100, body) }

func (c *chaosHTTP1) write(status int, header http.Header, length int, body string) error {
	var answer bytes.Buffer
	fmt.Fprintf(&answer, "HTTP/1.1 %d Status\r\nContent-Length: %d\r\n", status, length)
	_ = header.Write(&answer)
	fmt.Fprintf(&answer, "\r\n%s", body)
	_, err := answer.WriteTo(c.Conn)
	return err
}

func (c *chaosHTTP1) breakOff() error { return breakConnection(c) }

func (c *chaosHTTP1) outwait() error {
	_, _ = io.Copy(io.Discard, c.reader)
	return errChaosOver
}

// onConnection is a step that goes below HTTP.
func onConnection(step func(*chaosHTTP1) error) chaosStep {
	return func(v *chaosVisit) error { return step(v.chaosRequest.(*chaosHTTP1)) }
}

func breakConnection(c *chaosHTTP1) error {
	resetInChaos(c.Conn)
	return errChaosOver
}

func closeConnection(c *chaosHTTP1) error {
	_ = c.Close()
	return errChaosOver
}

func readHead(c *chaosHTTP1) error {
	_, err := http.ReadRequest(c.reader)
	return err
}

func readBytes(n int) func(*chaosHTTP1) error {
	return func(c *chaosHTTP1) error {
		_, err := c.reader.Discard(n)
		return err
	}
}

func writeBytes(text string) func(*chaosHTTP1) error {
	return func(c *chaosHTTP1) error {
		_, err := io.WriteString(c.Conn, text)
		return err
	}
}

// overHTTP2 adds the ways of HTTP/2 to break off a request, each before and after
// it was carried out. Some of them say that it was not, and some servers lie.
var overHTTP2 = chaosProtocol{scheme: "https", tls: true, serve: serveChaosHTTP2, fates: append(commonFates(), http2Fates()...)}

func http2Fates() []chaosFate {
	read, act := (*chaosVisit).read, (*chaosVisit).act
	var fates []chaosFate
	add := func(name string, often int, breakOff func(*chaosStream) error) {
		last := onStream(breakOff)
		fates = append(fates, chaosFate{name, often, []chaosStep{read, last}},
			chaosFate{"carried out, and " + name, often, []chaosStep{read, act, last}})
	}
	for _, code := range []http2.ErrCode{http2.ErrCodeProtocol, http2.ErrCodeRefusedStream, http2.ErrCodeCancel,
		http2.ErrCodeEnhanceYourCalm} {
		add("broken off with "+code.String(), 2, func(s *chaosStream) error { return s.reset(code) })
	}
	// These take the other requests on the connection with them.
	add("said not to have been seen", 1, func(s *chaosStream) error { return s.goAway(0) })
	add("lost with its connection", 1, func(s *chaosStream) error {
		resetInChaos(s.conn)
		return errChaosOver
	})
	last := onStream(func(s *chaosStream) error { return s.goAway(s.id) })
	return append(fates, chaosFate{"carried out, said to be the last one, and answered", 2,
		[]chaosStep{read, act, last, chaosAnswer(200, scripted.Success)}})
}

// onStream is a step that goes below HTTP.
func onStream(step func(*chaosStream) error) chaosStep {
	return func(v *chaosVisit) error { return step(v.chaosRequest.(*chaosStream)) }
}

// chaosHTTP2 is a connection that carries many requests at once.
type chaosHTTP2 struct {
	conn    net.Conn
	service *chaosService
	streams map[uint32]*chaosStream

	mu     sync.Mutex // for writing
	framer *http2.Framer
}

// chaosStream is one of them.
type chaosStream struct {
	*chaosHTTP2
	id   uint32
	body []byte
	gone context.Context // done when the client has gone
	end  context.CancelFunc
}

func serveChaosHTTP2(s *chaosService, conn net.Conn) {
	if _, err := io.CopyN(io.Discard, conn, int64(len(http2.ClientPreface))); err != nil {
		return
	}
	alive, end := context.WithCancel(context.Background())
	defer end()
	c := &chaosHTTP2{conn: conn, service: s, streams: map[uint32]*chaosStream{}, framer: http2.NewFramer(conn, conn)}
	err := c.write(func() error { return c.framer.WriteSettings() })
	for err == nil {
		var frame http2.Frame
		if frame, err = c.framer.ReadFrame(); err == nil {
			err = c.handle(alive, frame)
		}
	}
}

func (c *chaosHTTP2) handle(alive context.Context, frame http2.Frame) error {
	stream := c.streams[frame.Header().StreamID]
	switch frame := frame.(type) {
	case *http2.SettingsFrame:
		if !frame.IsAck() {
			return c.write(c.framer.WriteSettingsAck)
		}
	case *http2.PingFrame:
		if !frame.IsAck() {
			return c.write(func() error { return c.framer.WritePing(true, frame.Data) })
		}
	case *http2.HeadersFrame:
		stream = &chaosStream{chaosHTTP2: c, id: frame.StreamID}
		stream.gone, stream.end = context.WithCancel(alive)
		c.streams[frame.StreamID] = stream
	case *http2.RSTStreamFrame:
		if stream != nil {
			stream.end()
		}
	case *http2.DataFrame:
		stream.body = append(stream.body, frame.Data()...)
		if frame.StreamEnded() {
			c.service.running.Go(func() { _ = c.service.play(stream) })
		}
		if length := frame.Header().Length; length > 0 { // the client sends no more than it is allowed to
			return c.write(func() error { return c.framer.WriteWindowUpdate(0, length) })
		}
	}
	return nil
}

func (c *chaosHTTP2) write(frame func() error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return frame()
}

func (s *chaosStream) receive() ([]byte, error) { return s.body, nil }

func (s *chaosStream) answer(status int, header http.Header, body string) error {
	return s.respond(status, header, body, true)
}

func (s *chaosStream) beginToAnswer(body string) error { return s.respond(200, nil, body, false) }

func (s *chaosStream) respond(status int, header http.Header, body string, whole bool) error {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	_ = encoder.WriteField(hpack.HeaderField{Name: ":status", Value: strconv.Itoa(status), Sensitive: true})
	for name, values := range header {
		_ = encoder.WriteField(hpack.HeaderField{Name: strings.ToLower(name), Value: values[0], Sensitive: true})
	}
	return s.write(func() error {
		head := http2.HeadersFrameParam{StreamID: s.id, BlockFragment: block.Bytes(), EndHeaders: true}
		if err := s.framer.WriteHeaders(head); err != nil {
			return err
		}
		return s.framer.WriteData(s.id, whole, []byte(body))
	})
}

func (s *chaosStream) breakOff() error { return s.reset(http2.ErrCodeInternal) }

func (s *chaosStream) reset(code http2.ErrCode) error {
	return s.write(func() error { return s.framer.WriteRSTStream(s.id, code) })
}

func (s *chaosStream) goAway(last uint32) error {
	return s.write(func() error { return s.framer.WriteGoAway(last, http2.ErrCodeNo, nil) })
}

func (s *chaosStream) outwait() error {
	<-s.gone.Done()
	return errChaosOver
}
