package messaging_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/messagingtest"
)

// slowLists serves a service in memory, by the clock of the test. A list takes 300 ms, and
// shows what there is at the end of that time or at its beginning.
func slowLists(service *messagingtest.Server, asOfTheEnd bool) http.HandlerFunc {
	const took = 300 * time.Millisecond
	return func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("X-Authorization", service.APIKey())
		isList := r.Method == http.MethodGet
		if isList {
			r.Body = http.NoBody
		}
		if isList && asOfTheEnd {
			time.Sleep(took)
		}
		service.Handler().ServeHTTP(w, r)
		if isList && !asOfTheEnd {
			time.Sleep(took)
		}
	}
}

func TestReplicasThatEnsureAnEventAtTheSameTimeAgree(t *testing.T) {
	for name, asOfTheEnd := range map[string]bool{"lists as of their end": true, "lists as of their beginning": false} {
		t.Run(name, func(t *testing.T) {
			service := messagingtest.NewServer(t)
			synctest.Test(t, func(t *testing.T) {
				client := scripted.NewInMemoryClient(t, slowLists(service, asOfTheEnd))
				ids := make([]string, 10)
				var replicas sync.WaitGroup
				for i := range ids {
					replicas.Go(func() {
						event, err := client.Events.Ensure(t.Context(), shipped)
						if assert.NoError(t, err) {
							ids[i] = event.ID
						}
					})
				}
				replicas.Wait()
				created := len(service.Events())
				if !asOfTheEnd {
					require.Equal(t, len(ids), created, "no list of the first ones shows an event")
				}
				for range 3 {
					ensured, err := client.Events.Ensure(t.Context(), shipped)
					require.NoError(t, err)
					found, err := client.Events.GetByName(t.Context(), shipped.Name)
					require.NoError(t, err)
					ids = append(ids, ensured.ID, found.ID)
				}
				assert.Len(t, slices.Compact(ids), 1, "all have the same event")
				assert.Len(t, service.Events(), created)
			})
		})
	}
}

// listed returns a page of events, each given by its members besides the name of the event
// that a test looks for.
func listed(meta string, rows ...string) scripted.Scene {
	for i, row := range rows {
		rows[i] = `{"name":"` + shipped.Name + `",` + row + `}`
	}
	return scripted.Responds(200, `{"success":true,"data":[`+strings.Join(rows, ",")+`],"meta":`+meta+`}`)
}

// lookups are the ways to look up an event that exists, in a list of two pages.
var lookups = map[string]func(*messaging.Client, context.Context) (*messaging.Event, error){
	"GetByName": func(c *messaging.Client, ctx context.Context) (*messaging.Event, error) {
		return c.Events.GetByName(ctx, shipped.Name)
	},
	"GetByName without read-ahead": func(c *messaging.Client, ctx context.Context) (*messaging.Event, error) {
		return c.Events.GetByName(ctx, shipped.Name, messaging.WithoutReadAhead())
	},
	"FindEvent": func(c *messaging.Client, ctx context.Context) (*messaging.Event, error) {
		all, err := messaging.Collect(c.Events.All(ctx, messaging.EventListParams{}))
		if err != nil {
			return nil, err
		}
		return messaging.FindEvent(all, shipped.Name)
	},
	"Ensure": func(c *messaging.Client, ctx context.Context) (*messaging.Event, error) {
		return c.Events.Ensure(ctx, messaging.EventCreateParams{Name: shipped.Name, Description: "Another",
			Parameters: []messaging.EventParameter{{Name: "a", Type: "text"}, {Name: "b", Type: "numeric"}}})
	},
}

func TestOfEqualEventsTheOldestIsFound(t *testing.T) {
	const parameters = `"parameters":[{"name":"a","type":"text","required":false},{"name":"b","type":"numeric","required":false}]`
	at := func(created string) string { return `"created_at":` + created + "," + parameters }
	const first, second = `"2026-05-01T10:20:30.000001Z"`, `"2026-05-01T10:20:30.000002Z"`
	for name, rows := range map[string][2]string{
		"the first by created_at":          {`"id":"e-1",` + at(second), `"id":"e-0",` + at(first)},
		"the first by id at the same time": {`"id":"e-1",` + at(first), `"id":"e-0",` + at(first)},
		"one that has created_at":          {`"id":"e-1",` + parameters, `"id":"e-0",` + at(second)},
		"one whose created_at is no null":  {`"id":"e-1",` + at("null"), `"id":"e-0",` + at(second)},
		"one whose created_at can be read": {`"id":"e-1",` + at(`"soon"`), `"id":"e-0",` + at(second)},
		"the first by id without any time": {`"id":"e-1",` + parameters, `"id":"e-0",` + parameters},
		"one that has an id":               {parameters, `"id":"e-0",` + parameters},
		"an event that is listed twice":    {`"id":"e-0",` + at(first), `"id":"e-0",` + at(first)},
		"parameters in another order and case": {`"id":"e-1",` + parameters,
			`"id":"e-0","parameters":[{"name":"b","type":"Numeric"},{"name":"a","type":"TEXT"}]`},
		"parameters with a member of their own": {`"id":"e-1",` + parameters,
			`"id":"e-0","parameters":[{"name":"a","type":"text","id":7},{"name":"b","type":"numeric"}]`},
	} {
		for way, look := range lookups {
			for _, order := range [][2]int{{0, 1}, {1, 0}} {
				t.Run(fmt.Sprint(name, ", ", way, ", ", order), func(t *testing.T) {
					client, transport := scripted.NewClient(t, []scripted.Scene{
						listed(scripted.MetaBefore("2"), rows[order[0]]), listed(scripted.MetaOfLastPage, rows[order[1]])})
					event, err := look(client, t.Context())
					require.NoError(t, err)
					assert.Equal(t, "e-0", event.ID)
					assert.Len(t, transport.Sent, 2)
				})
			}
		}
	}
}

func TestEventsThatAreNotEqualAreAmbiguousUnlessAllFit(t *testing.T) {
	const a, b = `{"name":"a","type":"text"}`, `{"name":"b","type":"numeric"}`
	const fits, both = `"id":"e-0","parameters":[` + a + `,` + b + `]`, true
	for name, test := range map[string]struct {
		other   string
		bothFit bool
	}{
		"a further optional parameter":   {a + `,` + b + `,{"name":"c","type":"text"}`, both},
		"a further required parameter":   {a + `,` + b + `,{"name":"c","type":"text","required":true}`, !both},
		"another type":                   {a + `,{"name":"b","type":"text"}`, !both},
		"another name":                   {a + `,{"name":"B","type":"numeric"}`, !both},
		"a parameter that is required":   {a + `,{"name":"b","type":"numeric","required":true}`, !both},
		"no parameters":                  {``, !both},
		"a parameter twice, and one not": {a + `,` + a, !both},
	} {
		for way, look := range lookups {
			for _, reversed := range []bool{false, true} {
				t.Run(fmt.Sprint(name, ", ", way, ", reversed ", reversed), func(t *testing.T) {
					rows := []string{fits, `"id":"e-1","parameters":[` + test.other + `]`}
					if reversed {
						slices.Reverse(rows)
					}
					client, transport := scripted.NewClient(t, []scripted.Scene{listed(scripted.MetaOfLastPage, rows...)})
					event, err := look(client, t.Context())
					assert.Len(t, transport.Sent, 1)
					if way == "Ensure" && test.bothFit {
						require.NoError(t, err)
						assert.Equal(t, "e-0", event.ID)
						return
					}
					require.ErrorIs(t, err, messaging.ErrEventAmbiguous)
					assert.Nil(t, event)
					if way == "Ensure" {
						assert.Equal(t, messaging.DeliveryNotSent, messaging.DeliveryOf(err))
					}
				})
			}
		}
	}
}

func TestEventsWithParametersThatCannotBeReadEqualNoOther(t *testing.T) {
	client, _ := scripted.NewClient(t, []scripted.Scene{
		listed(scripted.MetaOfLastPage, `"id":"e-0","parameters":7`, `"id":"e-1","parameters":[]`)})
	all, err := messaging.Collect(client.Events.All(t.Context(), messaging.EventListParams{}))
	require.NoError(t, err)
	_, err = messaging.FindEvent(all, shipped.Name)
	require.ErrorIs(t, err, messaging.ErrEventAmbiguous)
	only, err := messaging.FindEvent(all[:1], shipped.Name)
	require.NoError(t, err)
	assert.Same(t, &all[0], only)
	_, err = messaging.FindEvent(all, "another")
	require.ErrorIs(t, err, messaging.ErrEventNotFound)
}

func TestEnsureRefusesEventsOfWhichNoneFits(t *testing.T) {
	service := messagingtest.NewServer(t)
	service.AddEvents(messaging.Event{Name: shipped.Name, Parameters: shipped.Parameters[:1]}, messaging.Event{Name: shipped.Name})
	_, err := service.Client().Events.Ensure(t.Context(), shipped)
	require.ErrorIs(t, err, messaging.ErrEventDiffers)
	assert.EqualError(t, err, "get event: the event is defined differently: the service has no parameter weight; nothing was created",
		"the oldest is described")
}

func TestEnsureLooksAgainAfterACreation(t *testing.T) {
	const (
		none       = `{"success":true,"data":[]}`
		parameters = `"parameters":[{"name":"order","type":"text","required":true},{"name":"weight","type":"numeric","required":false}]`
		noWeight   = `"parameters":[{"name":"order","type":"text","required":true}]`
		created    = `"created_at":"2026-05-01T10:20:30.5Z",`
		own        = `"id":"e-5",` + created + parameters
	)
	row := func(id, second, parameters string) string {
		return `"id":"` + id + `","created_at":"2026-05-01T10:20:` + second + `Z",` + parameters
	}
	const ambiguous = "" // in place of an id
	for name, test := range map[string]struct {
		look scripted.Scene
		want string
	}{
		"an older one":                          {listed("null", own, row("e-9", "29", parameters)), "e-9"},
		"an older one, and not yet its own":     {listed("null", row("e-9", "29", parameters)), "e-9"},
		"one of the same time and a lower id":   {listed("null", own, row("e-4", "30.5", parameters)), "e-4"},
		"one of the same time and a higher id":  {listed("null", row("e-6", "30.5", parameters), own), "e-5"},
		"a younger one":                         {listed("null", own, row("e-4", "31", parameters)), "e-5"},
		"a younger one, and not yet its own":    {listed("null", row("e-4", "31", parameters)), "e-5"},
		"one without a time":                    {listed("null", `"id":"e-4",`+parameters, own), "e-5"},
		"its own alone":                         {listed("null", own), "e-5"},
		"its own as the service has changed it": {listed("null", `"id":"e-5",`+created+noWeight), "e-5"},
		"nothing yet":                           {scripted.Responds(200, none), "e-5"},
		"an older one that fits without being equal": {listed("null", own,
			row("e-9", "29", strings.Replace(parameters, "[", `[{"name":"carrier","type":"text"},`, 1))), "e-9"},
		"an older one that does not fit":              {listed("null", row("e-9", "29", noWeight), own), ambiguous},
		"a younger one that does not fit":             {listed("null", own, row("e-9", "31", noWeight)), ambiguous},
		"one that does not fit, and not yet its own":  {listed("null", row("e-9", "31", noWeight)), ambiguous},
		"an older one, and another that does not fit": {listed("null", row("e-8", "29", parameters), row("e-9", "29", noWeight)), ambiguous},
		"nothing, because the list fails":             {scripted.Responds(503, ""), "e-5"},
		"nothing, because the key was revoked":        {scripted.Responds(401, ""), "e-5"},
		"nothing, because the connection is lost":     {scripted.Breaks(http.ErrHandlerTimeout), "e-5"},
		"a row that cannot be read":                   {listed("null", `"id":[]`), "e-5"},
		"a page after which another one is lost":      {listed(`{"has_next_page":true}`, row("e-9", "29", parameters)), "e-5"},
		"a response that is not from the service":     {scripted.Responds(200, "<html>"), "e-5"},
	} {
		t.Run(name, func(t *testing.T) {
			client, transport := scripted.NewClient(t, []scripted.Scene{scripted.Responds(200, none),
				scripted.Responds(200, `{"success":true,"data":{"name":"order shipped",`+own+`}}`), test.look},
				messaging.WithRetryPolicy(messaging.RetryPolicy{MaxAttempts: 1}))
			event, err := client.Events.Ensure(t.Context(), shipped)
			assert.Len(t, transport.Sent, 3)
			assert.Equal(t, []string{"GET", "POST", "GET"}, []string{transport.Sent[0].Method, transport.Sent[1].Method, transport.Sent[2].Method})
			if test.want != ambiguous {
				require.NoError(t, err)
				assert.Equal(t, test.want, event.ID)
				return
			}
			require.ErrorIs(t, err, messaging.ErrEventAmbiguous)
			assert.Nil(t, event)
			assert.Equal(t, messaging.DeliveryAccepted, messaging.DeliveryOf(err))
			assert.Equal(t, messaging.NextNone, messaging.NextStepOf(err))
			assert.EqualError(t, err, "create event: several events have that name, and they differ: it was created beside one that does not fit")
		})
	}
}

func TestEnsureReturnsItsEventIfTheCallEndsAfterTheCreation(t *testing.T) {
	service := messagingtest.NewServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	var done []string
	note := func(_ context.Context, call messaging.CallInfo, result messaging.CallResult) {
		done = append(done, fmt.Sprintf("%s: %v after %d %s", call.Operation, result.Delivery, result.Attempts, result.ErrorType))
		if call.Send {
			cancel()
		}
	}
	client := service.Client(messaging.WithHooks(messaging.Hooks{CallDone: note}))
	event, err := client.Events.Ensure(ctx, shipped)
	require.NoError(t, err)
	assert.Equal(t, service.Events()[0].ID, event.ID)
	assert.Equal(t, []string{"get event: accepted after 1 ", "create event: accepted after 1 ", "get event: not sent after 0 "}, done)
}

func TestEnsureLooksAgainOnlyAfterItsOwnCreation(t *testing.T) {
	service := messagingtest.NewServer(t)
	client := service.Client()
	service.Fail(messaging.OpCreateEvent, 1, messagingtest.Status(422))
	_, err := client.Events.Ensure(t.Context(), shipped)
	require.ErrorIs(t, err, messaging.ErrValidation)
	assert.Len(t, service.Requests(), 2)
	service.Fail(messaging.OpCreateEvent, 1, messagingtest.AnswerLost())
	_, err = client.Events.Ensure(t.Context(), shipped)
	assert.Equal(t, messaging.DeliveryUnknown, messaging.DeliveryOf(err))
	assert.Len(t, service.Requests(), 4)
	_, err = client.Events.Ensure(t.Context(), shipped)
	require.NoError(t, err)
	assert.Len(t, service.Requests(), 5, "it is there")
}

func TestEnsureCreatesNothingBecauseAnotherLookupWasAmbiguous(t *testing.T) {
	service := messagingtest.NewServer(t)
	asked := 0
	client := service.Client(messaging.WithKeySource(func(context.Context) (string, error) {
		if asked++; asked == 3 {
			return "", fmt.Errorf("key of the tenant: %w", messaging.ErrEventAmbiguous)
		}
		return service.APIKey(), nil
	}))
	event, err := client.Events.Ensure(t.Context(), shipped)
	require.NoError(t, err, "it is the second lookup of the event that failed")
	assert.Equal(t, service.Events()[0].ID, event.ID)
}
