package hostile_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/messaging-go/messaging/internal/scripted"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/faultserver"
)

// hostileRow is one way in which an answer, or the lack of one, can go wrong.
type hostileRow struct {
	number int
	name   string
	cases  hostileCases
}

// hostileRows is the whole matrix.
func hostileRows() []hostileRow {
	return slices.Concat(hostileBodies(), hostileLists(), hostileSizes(), hostileStatuses(), hostileConnections())
}

const lastHostileRow = 110

func TestHostileResponses(t *testing.T) {
	usual := log.Writer()
	t.Cleanup(func() { log.SetOutput(usual) })
	log.SetOutput(io.Discard) // net/http logs there what a server says unasked
	for _, row := range hostileRows() {
		t.Run(fmt.Sprintf("%03d %s", row.number, row.name), func(t *testing.T) {
			if !row.cases.measured() {
				t.Parallel()
			}
			for i, c := range row.cases {
				c.run(t, i)
			}
		})
	}
}

func TestHostileRowsAreComplete(t *testing.T) {
	var numbers []int
	for _, row := range hostileRows() {
		numbers = append(numbers, row.number)
		assert.NotEmpty(t, row.name, row.number)
		assert.NotEmpty(t, row.cases, row.number)
		for _, c := range row.cases {
			assert.True(t, c.test != nil || len(c.calls) > 0, "a case of row %d asserts nothing", row.number)
		}
	}
	slices.Sort(numbers)
	var wanted []int
	for number := range lastHostileRow {
		wanted = append(wanted, number+1)
	}
	assert.Equal(t, wanted, numbers, "every number is there once")
}

// upshot is how a call ends: with an error of a type, or nil, and a delivery.
type upshot struct {
	failure  error
	delivery messaging.Delivery
}

var (
	succeeds = upshot{nil, messaging.DeliveryAccepted}
	// unsent is proved never to have reached the service, lost may have. Behind a
	// transport that is given to a client, nothing is proved of a read.
	unsent = upshot{new(messaging.TransportError), messaging.DeliveryNotSent}
	lost   = upshot{new(messaging.TransportError), messaging.DeliveryUnknown}
	// refused is a no of the service, unclear an answer that may be somebody else's.
	refused = upshot{new(messaging.APIError), messaging.DeliveryRejected}
	unclear = upshot{new(messaging.APIError), messaging.DeliveryUnknown}
	// garbled says nothing that can be relied upon, doneButGarbled says success.
	garbled        = upshot{new(messaging.DecodeError), messaging.DeliveryUnknown}
	doneButGarbled = upshot{new(messaging.DecodeError), messaging.DeliveryAccepted}
	// ledAstray and brokenOff are the ends of ranges.
	ledAstray = upshot{new(messaging.PageError), messaging.DeliveryAccepted}
	brokenOff = upshot{new(messaging.PageError), messaging.DeliveryUnknown}
)

// hostileCall is what is asked of a client, and what is due.
type hostileCall struct {
	name    string
	perform invoke
	want    upshot
	// requests are those that the server has read to their end, acted those that
	// it has carried out.
	requests, acted int
}

// invoke makes one call and returns what came of it.
type invoke func(context.Context, *messaging.Client) (any, error)

func listingCustomersPage(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Customers.List(ctx, messaging.CustomerListParams{})
}

func listingEventsPage(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Events.List(ctx, messaging.EventListParams{})
}

func listingMessagesPage(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Transactional.List(ctx, messaging.TransactionalListParams{})
}

func broadcasting(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Broadcasts.SendEmail(ctx, scripted.BroadcastTo(scripted.PersonalEmail))
}

func triggering(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "order_paid", Email: scripted.PersonalEmail})
}

func creating(ctx context.Context, client *messaging.Client) (any, error) {
	return client.Events.Create(ctx, messaging.EventCreateParams{Name: "order_paid", Description: "Paid", Parameters: []messaging.EventParameter{}})
}

// walkingCustomers returns the ids of all customers.
func walkingCustomers(ctx context.Context, client *messaging.Client) (any, error) {
	return messaging.Collect(customersKind.All(ctx, client, ""))
}

// hostileCase is a server, a client, and what comes of their meeting. Each call
// of it meets a server of its own.
type hostileCase struct {
	test func(*testing.T) // in place of all that follows

	start     func(testing.TB) *faultserver.Server
	baseURL   string // "" for the server's own
	transport func(*testing.T, *faultserver.Server) http.RoundTripper
	options   []messaging.Option
	within    func(context.Context) (context.Context, context.CancelFunc)
	memory    uint64 // that a call may take, 0 for any
	read      invoke
	send      invoke
	calls     []hostileCall
	checks    []hostileCheck
}

// hostileCheck looks at more than the upshot of a call.
type hostileCheck func(*testing.T, hostileOutcome)

type hostileOutcome struct {
	value  any
	err    error
	server *faultserver.Server
}

func (c *hostileCase) run(t *testing.T, i int) {
	if c.test != nil {
		t.Run(strconv.Itoa(i), c.test)
	}
	for _, call := range c.calls {
		t.Run(strconv.Itoa(i)+" "+call.name, func(t *testing.T) { c.meet(t, call) })
	}
}

// meet has one call made, and holds it against what is due.
func (c *hostileCase) meet(t *testing.T, call hostileCall) {
	server := c.start(t)
	client := c.client(t, server)
	ctx, cancel := c.within(t.Context())
	defer cancel()
	before := allocated()
	value, err := call.perform(ctx, client)
	if spent := allocated() - before; c.memory > 0 {
		assert.LessOrEqual(t, spent, c.memory, "bytes of memory")
	}
	requireUpshot(t, call.want, err)
	if !errors.As(err, new(*messaging.PageError)) && err != nil {
		assert.Nil(t, value, "nothing half-filled is returned")
	}
	requireCounts(t, server, call.requests, call.acted)
	for _, check := range c.checks {
		check(t, hostileOutcome{value, err, server})
	}
}

func (c *hostileCase) client(t *testing.T, server *faultserver.Server) *messaging.Client {
	t.Helper()
	options := append([]messaging.Option{scripted.WithQuickRetries()}, c.options...)
	if c.transport != nil {
		options = append(options, messaging.WithHTTPClient(&http.Client{Transport: c.transport(t, server)}))
	}
	baseURL := c.baseURL
	if baseURL == "" {
		baseURL = server.URL()
	}
	client, err := messaging.NewClient(baseURL, scripted.SecretKey, options...)
	require.NoError(t, err)
	return client
}

// requireUpshot checks what every upshot has in common, too: a text of one short
// line without the key, and a body that is not kept beyond its limit.
func requireUpshot(t *testing.T, want upshot, err error) {
	t.Helper()
	require.IsType(t, want.failure, err, "%v", err)
	assert.Equal(t, want.delivery, messaging.DeliveryOf(err))
	if err == nil {
		return
	}
	scripted.RequireOneShortLine(t, err, "", "")
	assert.NotContains(t, fmt.Sprintf("%v %+v", err, err), scripted.SecretKey)
	var refusal *messaging.APIError
	if errors.As(err, &refusal) {
		requireKept(t, refusal.Body)
	}
	var unreadable *messaging.DecodeError
	if errors.As(err, &unreadable) {
		requireKept(t, unreadable.Body)
	}
}

// requireKept checks the body that an error keeps: it has a limit, and no key
// in it, nor most of one.
func requireKept(t *testing.T, body []byte) {
	t.Helper()
	assert.LessOrEqual(t, len(body), scripted.MaxKeptBody)
	assert.False(t, strings.Contains(string(body), scripted.SecretKey[:len(scripted.SecretKey)-1]), "the key is kept")
}

// requireCounts lets a server catch up that a client did not wait for.
func requireCounts(t *testing.T, server *faultserver.Server, requests, acted int) {
	t.Helper()
	arrived := func() bool { return len(server.Requests()) >= requests && server.Acted() >= acted }
	if !arrived() {
		assert.Eventually(t, arrived, 2*time.Second, time.Millisecond)
	}
	assert.Len(t, server.Requests(), requests, "requests that the server has read")
	assert.Equal(t, acted, server.Acted(), "requests that the server has carried out")
}

// allocated is how much memory was ever asked for.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// hostileCases are built up from a server, in sentences such as
//
//	afterActing(faultserver.Reset).read(lost, 3, 3).send(lost, 1, 1)
type hostileCases []*hostileCase

func together(parts ...hostileCases) hostileCases { return slices.Concat(parts...) }

func tested(test func(*testing.T)) hostileCases { return hostileCases{{test: test}} }

func servedBy(start func(testing.TB) *faultserver.Server) hostileCases {
	return hostileCases{{start: start, within: context.WithCancel, read: listingCustomersPage, send: broadcasting}}
}

// onConnections plays a script on each connection in turn, the last one on all
// that follow.
func onConnections(scripts ...faultserver.Script) hostileCases {
	return servedBy(func(tb testing.TB) *faultserver.Server { return faultserver.Start(tb, scripts...) })
}

// afterActing reads every request, carries it out, and goes on with the steps.
func afterActing(steps ...faultserver.Step) hostileCases {
	return onConnections(acting(steps...))
}

func acting(steps ...faultserver.Step) faultserver.Script {
	return faultserver.Script{faultserver.Forever(slices.Concat(faultserver.Script{faultserver.ReadRequest, faultserver.Act}, steps)...)}
}

// withoutActing reads every request and goes on with the steps.
func withoutActing(steps ...faultserver.Step) hostileCases {
	return onConnections(declining(steps...))
}

func declining(steps ...faultserver.Step) faultserver.Script {
	return faultserver.Script{faultserver.Forever(slices.Concat(faultserver.Script{faultserver.ReadRequest}, steps)...)}
}

// answered200 is a case for each body of a whole answer, after acting.
func answered200(bodies ...string) hostileCases {
	return eachOf(bodies, func(body string) hostileCases { return afterActing(faultserver.Answer(http.StatusOK, body)) })
}

// eachOf joins the cases of several values.
func eachOf[T any](values []T, cases func(T) hostileCases) hostileCases {
	var all hostileCases
	for _, value := range values {
		all = append(all, cases(value)...)
	}
	return all
}

func (cs hostileCases) change(change func(*hostileCase)) hostileCases {
	for _, c := range cs {
		change(c)
	}
	return cs
}

// reading and sending choose the calls, in place of a list of customers and an
// e-mail broadcast.
func (cs hostileCases) reading(read invoke) hostileCases {
	return cs.change(func(c *hostileCase) { c.read = read })
}

func (cs hostileCases) sending(send invoke) hostileCases {
	return cs.change(func(c *hostileCase) { c.send = send })
}

// read says how a read ends, how many requests reach the server, and how many of
// them it carries out. send says so of a send, both of either.
func (cs hostileCases) read(want upshot, requests, acted int) hostileCases {
	return cs.change(func(c *hostileCase) { c.calls = append(c.calls, hostileCall{"read", c.read, want, requests, acted}) })
}

func (cs hostileCases) send(want upshot, requests, acted int) hostileCases {
	return cs.change(func(c *hostileCase) { c.calls = append(c.calls, hostileCall{"send", c.send, want, requests, acted}) })
}

func (cs hostileCases) both(want upshot, requests, acted int) hostileCases {
	return cs.read(want, requests, acted).send(want, requests, acted)
}

func (cs hostileCases) where(checks ...hostileCheck) hostileCases {
	return cs.change(func(c *hostileCase) { c.checks = append(c.checks, checks...) })
}

func (cs hostileCases) with(options ...messaging.Option) hostileCases {
	return cs.change(func(c *hostileCase) { c.options = append(c.options, options...) })
}

// patience is the time that an attempt has with a server that never ends.
const patience = 300 * time.Millisecond

func (cs hostileCases) impatiently() hostileCases {
	return cs.with(messaging.WithAttemptTimeout(patience))
}

func (cs hostileCases) within(limit func(context.Context) (context.Context, context.CancelFunc)) hostileCases {
	return cs.change(func(c *hostileCase) { c.within = limit })
}

// at gives another base URL, over a transport that finds the server there.
func (cs hostileCases) at(baseURL string) hostileCases {
	return cs.change(func(c *hostileCase) { c.baseURL = baseURL }).through(func(*http.Transport) {})
}

// through sends over a transport that dials the server whatever the address, and
// trusts its certificate.
func (cs hostileCases) through(change func(*http.Transport)) hostileCases {
	return cs.over(func(t *testing.T, server *faultserver.Server) http.RoundTripper {
		return newTransportTo(t, server, change)
	})
}

func (cs hostileCases) over(transport func(*testing.T, *faultserver.Server) http.RoundTripper) hostileCases {
	return cs.change(func(c *hostileCase) { c.transport = transport })
}

func newTransportTo(t *testing.T, server *faultserver.Server, change func(*http.Transport)) *http.Transport {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: faultserver.ClientTLS(), ForceAttemptHTTP2: true}
	transport.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Address())
	}
	change(transport)
	t.Cleanup(transport.CloseIdleConnections)
	return transport
}

// costing bounds the memory that a call may take. Nothing else runs meanwhile.
func (cs hostileCases) costing(memory uint64) hostileCases {
	return cs.change(func(c *hostileCase) { c.memory = memory })
}

func (cs hostileCases) measured() bool {
	return slices.ContainsFunc(cs, func(c *hostileCase) bool { return c.memory > 0 })
}

// is looks for a sentinel.
func is(sentinel error) hostileCheck {
	return func(t *testing.T, o hostileOutcome) { assert.ErrorIs(t, o.err, sentinel) }
}

// tells looks for words in the text of the error.
func tells(words string) hostileCheck {
	return func(t *testing.T, o hostileOutcome) { assert.ErrorContains(t, o.err, words) }
}

// keepsQuietAbout asks that words do not show in the text of the error.
func keepsQuietAbout(words string) hostileCheck {
	return func(t *testing.T, o hostileOutcome) { assert.NotContains(t, o.err.Error(), words) }
}

// tookAttempts asks how often the request was put on its way.
func tookAttempts(want int) hostileCheck {
	return func(t *testing.T, o hostileOutcome) {
		var failed *messaging.TransportError
		require.ErrorAs(t, o.err, &failed)
		assert.Equal(t, want, failed.Attempts)
	}
}

// complains asks what was read from the body of an error.
func complains(message string, fields ...messaging.FieldError) hostileCheck {
	return func(t *testing.T, o hostileOutcome) {
		var answer *messaging.APIError
		require.ErrorAs(t, o.err, &answer)
		assert.Equal(t, message, answer.Message)
		assert.Equal(t, fields, answer.Fields)
	}
}

// keepsBody asks for the body of the answer as it came.
func keepsBody(body string) hostileCheck {
	return func(t *testing.T, o hostileOutcome) {
		var unreadable *messaging.DecodeError
		require.ErrorAs(t, o.err, &unreadable)
		assert.Equal(t, body, string(unreadable.Body))
	}
}

// waitsFor asks for the wait that the service wants.
func waitsFor(retryAfter time.Duration) hostileCheck {
	return func(t *testing.T, o hostileOutcome) {
		var answer *messaging.APIError
		require.ErrorAs(t, o.err, &answer)
		assert.Equal(t, retryAfter, answer.RetryAfter)
	}
}

// gives asks for the items of a page, or for all that a range came upon.
func gives[T any](want ...T) hostileCheck {
	return func(t *testing.T, o hostileOutcome) {
		if page, ok := o.value.(*messaging.Page[T]); ok {
			assert.Equal(t, want, page.Items)
			return
		}
		assert.Equal(t, want, o.value)
	}
}

// hasStatus asks for the status of an answer that said success.
func hasStatus(want int) hostileCheck {
	return func(t *testing.T, o hostileOutcome) { assert.Equal(t, want, o.response(t).StatusCode) }
}

func (o hostileOutcome) response(t *testing.T) *messaging.Response {
	t.Helper()
	if page, ok := o.value.(*messaging.Page[messaging.Customer]); ok {
		return page.Response
	}
	require.IsType(t, new(messaging.Response), o.value)
	return o.value.(*messaging.Response)
}
