package inspector

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/messaging-go/messaging/cmd/messaging/internal/inspector/guard"
	"github.com/messaging-go/messaging/cmd/messaging/internal/openapi"
	"github.com/messaging-go/messaging/cmd/messaging/internal/records"
	"github.com/messaging-go/messaging/cmd/messaging/internal/sandbox"
	"github.com/messaging-go/messaging/cmd/messaging/internal/words"
	"github.com/messaging-go/messaging/internal/fake"
)

// route is a route of the API, with its handler and what its description needs: see [openapi.Document.Add].
type route struct {
	pattern, about string
	handler        http.Handler
	query          []openapi.Parameter
	body, response any
}

var (
	searchParameter = openapi.Parameter{Name: "q", Type: "string", About: "a search, as /help describes it"}
	listParameters  = []openapi.Parameter{searchParameter,
		{Name: "before", Type: "integer", About: "only what has a lower number, such as the next of the page before"},
		{Name: "limit", Type: "integer", About: fmt.Sprintf("how many, at most %d (default %d)", maxLimit, defaultLimit)}}
	waitParameters = []openapi.Parameter{searchParameter,
		{Name: "count", Type: "integer", About: "for how many requests: the response is a list then; 0 expects none"},
		{Name: "timeout", Type: "string", About: fmt.Sprintf("how long, such as 500ms, at most %v (default %v)", maxWait, defaultWait)},
		{Name: "after", Type: "string", About: "only requests with a higher number, or start (default: the last mark or reset)"}}
	resetParameters = []openapi.Parameter{{Name: "what", Type: "string", About: "all (default), history or faults"}}
)

// api returns the routes of the API. Its description ranges over them.
func (in *Inspector) api() []route {
	requests, broadcasts := listEntries(in, isAny, newRequestItem), listEntries(in, isBroadcast, newBroadcastItem)
	triggers, stream := listEntries(in, isTrigger, newTriggerItem), openapi.MediaType("text/event-stream")
	seed, anyJSON := json.RawMessage(`{"customers":[{"email":"ada@example.com"}]}`), json.RawMessage(nil)
	rule := fake.Rule{Match: "to:ada@example.com", Count: 1, Probability: 1, Fault: fake.Fault{Kind: fake.AnswerLost}}
	routes := []route{
		{"GET /healthz", "Whether the sandbox has started", answer(in.health), nil, nil, healthBody{}},
		{"GET /openapi.json", "The service, as OpenAPI", answer(in.openAPI), nil, nil, anyJSON},
		{"GET /api/openapi.json", "This description", answer(in.apiDescription), nil, nil, anyJSON},
		{"GET /api/access", "What a program needs to use the service", answer(in.access), nil, nil, accessBody{}},
		{"GET /api/stream", "The state of the sandbox, after each change", http.HandlerFunc(in.stream), nil, nil, stream},
		{"GET /api/wait", "Wait for the first request that matches", http.HandlerFunc(in.wait), waitParameters, nil,
			openapi.AnyOf{requestItem{}, listBody[requestItem]{}}},
		{"POST /api/mark", "Make wait ignore earlier requests", answer(in.mark), nil, markBody{"checkout"}, numberBody{}},
		{"POST /api/replay", "Send a request again", answer(in.replay), nil, sandbox.Replay{Number: 1}, numberBody{}},
		{"GET /api/requests", "List requests, latest first", requests, listParameters, nil, listBody[requestItem]{}},
		{"GET /api/requests/{n}", "A request with its response", getEntry(in, isAny, newRequestDetail), nil, nil, requestDetail{}},
		{"GET /api/requests/{n}/body", "The body of a request as it was sent", http.HandlerFunc(in.body), nil, nil,
			openapi.MediaType("application/octet-stream")},
		{"GET /api/broadcasts", "List broadcasts, latest first", broadcasts, listParameters, nil, listBody[broadcastHead]{}},
		{"GET /api/broadcasts/{n}", "A broadcast", getEntry(in, isBroadcast, newBroadcastItem), nil, nil,
			openapi.AnyOf{emailItem{}, pushItem{}}},
		{"GET /api/triggers", "List triggers, latest first", triggers, listParameters, nil, listBody[triggerItem]{}},
		{"GET /api/triggers/{n}", "A trigger", getEntry(in, isTrigger, newTriggerItem), nil, nil, triggerItem{}},
		{"GET /api/dump", "All " + records.Names("and") + " as a seed", answer(in.dump), nil, nil, records.Seed{}},
		{"POST /api/seed", "Add the records of a seed", answer(in.addSeed), nil, seed, map[string]int{}},
		{"POST /api/reset", "Restore the seed, and clear history and faults", answer(in.reset), resetParameters, nil, nil},
		{"GET /api/faults", "List the rules of faults", answer(in.listFaults), nil, nil, faultsBody{}},
		{"POST /api/faults", "Add a rule: requests that match fail", answer(in.addFault), nil, rule, idBody{}},
		{"DELETE /api/faults/{id}", "Remove a rule", answer(in.removeFault), nil, nil, nil},
		{"POST /api/outage", "Close the port of the service", answer(in.outage), nil, outageBody{fake.Duration(10 * time.Second)}, nil},
	}
	for _, kind := range records.Kinds {
		routes = append(routes,
			route{"GET /api/" + kind.Name, "List " + kind.Name, in.listRecords(kind), listParameters, nil, listBody[records.Record]{}},
			route{"GET /api/" + kind.Name + "/{n}", "One of the " + kind.Name, in.getRecord(kind), nil, nil, records.Record{}})
	}
	return routes
}

func (in *Inspector) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, handler := range map[string]http.Handler{
		"GET /{$}":                 page(in.requestPage),
		"GET /requests/{n}":        page(in.requestPage),
		"GET /rows":                http.HandlerFunc(in.rows),
		"GET /preview/{n}":         http.HandlerFunc(in.preview),
		"GET /faults":              page(in.faultsPage),
		"GET /help":                page(in.helpPage),
		"POST /faults":             form(in.postFault),
		"POST /faults/{id}/remove": form(in.postRemoveFault),
		"POST /outage":             form(in.postOutage),
		"POST /replay":             form(in.postReplay),
		"POST /reset":              form(in.postReset),
		"GET /static/":             http.FileServerFS(static),
		anyPath:                    in.elsewhere(mux),
	} {
		mux.Handle(pattern, handler)
	}
	for _, kind := range records.Kinds {
		mux.Handle("GET /"+kind.Name, in.recordPage(kind))
		mux.Handle("GET /"+kind.Name+"/{n}", in.recordPage(kind))
	}
	for _, r := range in.api() {
		mux.Handle(r.pattern, r.handler)
	}
	return mux
}

// anyPath is the pattern of what no other route serves.
const anyPath = "/"

// elsewhere refuses a method that a path does not have, and shows that there is nothing at any other path.
func (in *Inspector) elsewhere(mux *http.ServeMux) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var allowed []string
		for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete} {
			other := *r
			other.Method = method
			if _, pattern := mux.Handler(&other); pattern != anyPath {
				allowed = append(allowed, method)
			}
		}
		if allowed == nil {
			page(in.notFound).ServeHTTP(w, r)
			return
		}
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		guard.Refuse(w, http.StatusMethodNotAllowed, "the method must be "+words.List(allowed, "or"))
	}
}
