package messaging_test

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/internal/kit/scripted"
	"github.com/messaging-go/messaging/messagingtest"
)

// operations is everything that the service can do.
var operations = []string{
	"GET /v1/customers",
	"GET /v1/events",
	"GET /v1/messaging/transactional",
	"POST /v1/broadcast/send/email",
	"POST /v1/broadcast/send/push-notification",
	"POST /v1/events",
	"POST /v1/events/trigger",
}

type operationCall func(context.Context, *messaging.Client)

// operationCalls calls every method of the services once, ranges included.
var operationCalls = map[string]operationCall{
	"BroadcastsService.SendEmail": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Broadcasts.SendEmail(ctx, messaging.EmailBroadcastParams{
			SenderEmail: "billing@acme.example", SenderName: "Acme", Email: "ada@example.com", Subject: "Hello",
			Message: "Hello", MessageType: "greeting", To: messaging.AllCustomers()})
	},
	"BroadcastsService.SendPush": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Broadcasts.SendPush(ctx, messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello", To: messaging.AllCustomers()})
	},
	"EventsService.Create": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Events.Create(ctx, messaging.EventCreateParams{Name: "ping", Description: "ping", Parameters: []messaging.EventParameter{}})
	},
	"EventsService.Trigger": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Events.Trigger(ctx, messaging.EventTriggerParams{EventID: "event-1", Email: "ada@example.com"})
	},
	"EventsService.List": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Events.List(ctx, messaging.EventListParams{})
	},
	"EventsService.Pages": func(ctx context.Context, client *messaging.Client) {
		for range client.Events.Pages(ctx, messaging.EventListParams{}) {
		}
	},
	"EventsService.All": func(ctx context.Context, client *messaging.Client) {
		for range client.Events.All(ctx, messaging.EventListParams{}) {
		}
	},
	"EventsService.GetByName": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Events.GetByName(ctx, "ping")
	},
	"EventsService.Ensure": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Events.Ensure(ctx, messaging.EventCreateParams{Name: "ping", Description: "ping", Parameters: []messaging.EventParameter{}})
	},
	"CustomersService.List": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Customers.List(ctx, messaging.CustomerListParams{})
	},
	"CustomersService.Pages": func(ctx context.Context, client *messaging.Client) {
		for range client.Customers.Pages(ctx, messaging.CustomerListParams{}) {
		}
	},
	"CustomersService.All": func(ctx context.Context, client *messaging.Client) {
		for range client.Customers.All(ctx, messaging.CustomerListParams{}) {
		}
	},
	"CustomersService.Get": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Customers.Get(ctx, "customer-1")
	},
	"CustomersService.GetByEmail": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Customers.GetByEmail(ctx, "ada@example.com")
	},
	"TransactionalService.List": func(ctx context.Context, client *messaging.Client) {
		_, _ = client.Transactional.List(ctx, messaging.TransactionalListParams{})
	},
	"TransactionalService.Pages": func(ctx context.Context, client *messaging.Client) {
		for range client.Transactional.Pages(ctx, messaging.TransactionalListParams{}) {
		}
	},
	"TransactionalService.All": func(ctx context.Context, client *messaging.Client) {
		for range client.Transactional.All(ctx, messaging.TransactionalListParams{}) {
		}
	},
}

func TestDocumentedOperationsAreThoseOfTheService(t *testing.T) {
	documented := documentedOperations(t)
	all := slices.Values(slices.Concat(slices.Collect(maps.Values(documented))...))
	assert.ElementsMatch(t, operations, distinct(all), "operations, and the API: lines of the methods")
	assert.ElementsMatch(t, slices.Collect(maps.Keys(operationCalls)), slices.Collect(maps.Keys(documented)),
		"operationCalls, and the methods of the services")
}

func TestDocumentedOperationsAreThoseThatAMethodCalls(t *testing.T) {
	for method, documented := range documentedOperations(t) {
		t.Run(method, func(t *testing.T) {
			call, known := operationCalls[method]
			require.True(t, known, "add it to operationCalls")
			service := newRecordingService(t, `HTTP/1.1 200 OK`+"\n\n"+`{"success": true, "data": null}`)
			call(t.Context(), service.client(t, atTheRoot))
			requests := service.recorded()
			var called []string
			for _, request := range requests {
				called = append(called, operationOf(t, request, ""))
			}
			assert.Equal(t, documented, called)
		})
	}
}

func TestDocumentedOperationIsServedInMemory(t *testing.T) {
	for method, call := range operationCalls {
		t.Run(method, func(t *testing.T) {
			service := messagingtest.NewServer(t)
			call(t.Context(), service.Client())
			require.NotEmpty(t, service.Requests())
			for _, request := range service.Requests() {
				assert.NotContains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, request.StatusCode,
					"add the route to messagingtest/handler.go")
			}
		})
	}
}

func TestDocumentedListsAreAllTestedAsLists(t *testing.T) {
	var lists []string
	for method := range operationCalls {
		if strings.HasSuffix(method, ".All") {
			lists = append(lists, method)
		}
	}
	assert.Len(t, scripted.Lists, len(lists), "internal/scripted/lists.go has one entry for each of %s", lists)
}

// operationOf is the method and the path, below the base URL, of a request.
func operationOf(t *testing.T, request, base string) string {
	parsed := parseWireRequest(t, request)
	target, err := url.Parse(parsed.Target)
	require.NoError(t, err)
	baseURL, err := url.Parse(base)
	require.NoError(t, err)
	return parsed.Method + " " + strings.TrimPrefix(target.EscapedPath(), strings.TrimSuffix(baseURL.EscapedPath(), "/"))
}

func distinct(values func(func(string) bool)) []string { return slices.Compact(slices.Sorted(values)) }

var operationComment = regexp.MustCompile(`(?m)^API: ([A-Z]+ /\S+)$`)

// documentedOperations is the operations that each method of a service names in
// its comment, by "Service.Method".
func documentedOperations(t *testing.T) map[string][]string {
	documented := make(map[string][]string)
	var services []string
	for _, typ := range parsePackage(t).Types {
		if !strings.HasSuffix(typ.Name, "Service") {
			continue
		}
		services = append(services, typ.Name)
		for _, method := range typ.Methods {
			comments := operationComment.FindAllStringSubmatch(method.Doc, -1)
			require.NotEmpty(t, comments, "%s.%s needs a line such as API: GET /v1/events", typ.Name, method.Name)
			for _, comment := range comments {
				documented[typ.Name+"."+method.Name] = append(documented[typ.Name+"."+method.Name], comment[1])
			}
		}
	}
	require.ElementsMatch(t, []string{"BroadcastsService", "CustomersService", "EventsService", "TransactionalService"},
		services, "the services; add a new one to this list")
	return documented
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, name := range exportedNames(t) {
		assert.NotEmpty(t, strings.TrimSpace(name.comment), name.declaration)
	}
}

func TestExportedNamesAreThoseOfTheGoldenFile(t *testing.T) {
	const path = "testdata/api.txt"
	var declarations []string
	for _, name := range exportedNames(t) {
		declarations = append(declarations, name.declaration+"\n")
	}
	slices.Sort(declarations)
	surface := strings.Join(declarations, "")
	if *updateGoldens {
		require.NoError(t, os.WriteFile(path, []byte(surface), 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	assert.Equal(t, string(golden), surface)
}

// exportedName is one line of the golden list, and the comment of its own or of
// the group that it stands in.
type exportedName struct{ declaration, comment string }

func exportedNames(t *testing.T) []exportedName {
	pkg := parsePackage(t)
	names := slices.Concat(exportedValues(pkg.Consts), exportedValues(pkg.Vars), exportedFunctions(t, pkg.Funcs))
	for _, typ := range pkg.Types {
		names = append(names, exportedMembers(t, typ)...)
		names = append(names, exportedValues(typ.Consts)...)
		names = append(names, exportedValues(typ.Vars)...)
		names = append(names, exportedFunctions(t, typ.Funcs)...)
		names = append(names, exportedFunctions(t, typ.Methods)...)
	}
	return names
}

func exportedValues(groups []*doc.Value) []exportedName {
	var names []exportedName
	for _, group := range groups {
		typ := ""
		for _, spec := range group.Decl.Specs {
			spec := spec.(*ast.ValueSpec)
			if spec.Type != nil {
				typ = " " + types.ExprString(spec.Type)
			} else if spec.Values != nil { // else the type above goes on, as with iota
				typ = ""
			}
			for _, name := range spec.Names {
				names = append(names, exportedName{
					fmt.Sprintf("%s %s%s", group.Decl.Tok, name.Name, typ),
					group.Doc + spec.Doc.Text() + spec.Comment.Text(),
				})
			}
		}
	}
	return names
}

func exportedFunctions(t *testing.T, functions []*doc.Func) []exportedName {
	var names []exportedName
	for _, function := range functions {
		names = append(names, exportedName{goSource(t, function.Decl), function.Doc})
	}
	return names
}

// exportedMembers is a type and, where it is a struct or an interface, its
// fields, methods and embedded types.
func exportedMembers(t *testing.T, typ *doc.Type) []exportedName {
	spec := *typ.Decl.Specs[0].(*ast.TypeSpec)
	members := new(ast.FieldList)
	switch definition := spec.Type.(type) {
	case *ast.StructType:
		spec.Type, members = ast.NewIdent("struct"), definition.Fields
	case *ast.InterfaceType:
		spec.Type, members = ast.NewIdent("interface"), definition.Methods
	}
	declaration := "type " + goSource(t, &spec)
	names := []exportedName{{declaration, typ.Doc}}
	for _, member := range members.List {
		comment := typ.Doc + member.Doc.Text()
		memberType := types.ExprString(member.Type)
		if member.Names == nil {
			names = append(names, exportedName{declaration + ", embeds " + memberType, comment})
		}
		for _, name := range member.Names {
			names = append(names, exportedName{declaration + ", " + name.Name + " " + memberType, comment})
		}
	}
	return names
}

func goSource(t *testing.T, node any) string {
	var source strings.Builder
	require.NoError(t, format.Node(&source, token.NewFileSet(), node))
	return strings.Join(strings.Fields(source.String()), " ")
}

// parsePackage reads the package as godoc shows it, so without what is unexported.
func parsePackage(t *testing.T) *doc.Package {
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	fileSet := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fileSet, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		files = append(files, file)
	}
	pkg, err := doc.NewFromFiles(fileSet, files, "github.com/messaging-go/messaging")
	require.NoError(t, err)
	return pkg
}

func TestVersionIsTheLatestOfTheChangelog(t *testing.T) {
	changelog, err := os.ReadFile("CHANGELOG.md")
	require.NoError(t, err)
	latest := regexp.MustCompile(`(?m)^## \[?(\d+\.\d+\.\d+[^\s\]]*)`).FindSubmatch(changelog)
	require.NotNil(t, latest, "a heading such as ## 0.1.0")
	assert.Equal(t, string(latest[1]), messaging.Version)
}

func TestVersionIsInTheUserAgent(t *testing.T) {
	var userAgent string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { userAgent = r.UserAgent() }))
	defer server.Close()
	client, err := messaging.NewClient(server.URL, "key", messaging.WithUserAgent("billing/1.4"))
	require.NoError(t, err)
	_, _ = client.Events.List(t.Context(), messaging.EventListParams{})
	assert.Equal(t, "billing/1.4 messaging-go/"+messaging.Version, userAgent)
}

func TestParamsAreNotModifiedByAnyCall(t *testing.T) {
	for name, build := range paramsOfEveryCall() {
		t.Run(name, func(t *testing.T) {
			reachable, call := build()
			untouched, _ := build()
			service := newRecordingService(t, `HTTP/1.1 200 OK`+"\n\n"+`{"success": true, "data": null}`)
			call(t.Context(), service.client(t, atTheRoot))
			assert.Len(t, service.recorded(), 1, "the call got as far as the wire")
			assert.Equal(t, untouched, reachable)
		})
	}
}

// paramsOfEveryCall builds, alike each time, a call and all that its params lead
// to, the backing arrays of slices included, where an append would write.
func paramsOfEveryCall() map[string]func() ([]any, operationCall) {
	return map[string]func() ([]any, operationCall){
		"email broadcast": func() ([]any, operationCall) {
			addresses := []string{"ada@example.com", "grace@example.com", "beyond@example.com"}
			customers, audience := sharedAudience()
			p := messaging.EmailBroadcastParams{SenderEmail: "billing@acme.example", SenderName: "Acme", Email: "ada@example.com",
				Subject: "Hello", Message: "Hello", MessageType: "greeting", CC: addresses[:2], BCC: addresses[:1], ReplyTo: addresses[:1],
				Variables: sharedValues(), To: audience, Schedule: &messaging.Schedule{Date: "2031-03-04", Timezone: "UTC"}}
			return []any{p, addresses, customers}, func(ctx context.Context, client *messaging.Client) { _, _ = client.Broadcasts.SendEmail(ctx, p) }
		},
		"push broadcast": func() ([]any, operationCall) {
			customers, audience := sharedAudience()
			p := messaging.PushBroadcastParams{Subject: "Hello", Message: "Hello", To: audience,
				Schedule: &messaging.Schedule{Date: "2031-03-04", Timezone: "UTC"}}
			return []any{p, customers}, func(ctx context.Context, client *messaging.Client) { _, _ = client.Broadcasts.SendPush(ctx, p) }
		},
		"event to create, with a type in capitals": func() ([]any, operationCall) {
			parameters := []messaging.EventParameter{{Name: "sku", Type: "TEXT"}, {Name: "beyond", Type: "TEXT"}}
			p := messaging.EventCreateParams{Name: "sale", Description: "A sale", Parameters: parameters[:1]}
			return []any{p, parameters}, func(ctx context.Context, client *messaging.Client) { _, _ = client.Events.Create(ctx, p) }
		},
		"event to trigger, with a definition": func() ([]any, operationCall) {
			customers, _ := sharedAudience()
			p := messaging.EventTriggerParams{Email: "ada@example.com", Customer: &customers[0], Values: sharedValues(),
				Definition: &messaging.Event{ID: "event-1", Parameters: []messaging.EventParameter{
					{Name: "at", Type: "TIMESTAMP"}, {Name: "order", Type: "OBJECT"}}}}
			return []any{p, customers}, func(ctx context.Context, client *messaging.Client) {
				_ = p.Definition.Validate(p)
				_, _ = client.Events.Trigger(ctx, p)
			}
		},
		"customer filter": func() ([]any, operationCall) {
			identities := []string{"ada@example.com", "grace@example.com", "beyond@example.com"}
			p := messaging.CustomerListParams{CustomerIDs: identities[1:2], Emails: identities[:2]}
			return []any{p, identities}, func(ctx context.Context, client *messaging.Client) {
				for range client.Customers.All(ctx, p) {
				}
			}
		},
	}
}

func sharedValues() map[string]any {
	at := time.Date(2031, 3, 4, 5, 6, 7, 8, time.FixedZone("one hour east", 60*60))
	return map[string]any{
		"at":    at,
		"order": map[string]any{"lines": []any{"tea", &at, map[string]time.Time{"packed": at}}, "raw": json.RawMessage(`{ "a": 1 }`)},
	}
}

func sharedAudience() ([]messaging.CustomerParams, messaging.Audience) {
	devices := []messaging.Device{{DeviceType: "ios", DeviceToken: "token-1"}, {DeviceType: "ios", DeviceToken: "beyond"}}
	customers := []messaging.CustomerParams{{CustomerID: "customer-1", Devices: devices[:1]}, {CustomerID: "beyond", Devices: devices}}
	return customers, messaging.ToEach(messaging.ToCustomers(customers[:1]...), messaging.ToSegments("segment-1"))
}

// Sixty-four callers are in flight at once, and each gets the answers to its own
// requests. Run with -race, this also shows that params can be shared.
func TestClientServesManyGoroutines(t *testing.T) {
	const callers = 64
	server := httptest.NewServer(newEchoService(callers))
	defer server.Close()
	client, err := messaging.NewClient(server.URL, "key")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, audience := sharedAudience()
	broadcast := messaging.PushBroadcastParams{Message: "Hello", To: audience}
	trigger := messaging.EventTriggerParams{Email: "ada@example.com", Values: sharedValues()}

	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			caller := fmt.Sprintf("caller-%d", i)
			trigger, broadcast := trigger, broadcast
			trigger.EventID, broadcast.Subject = caller, caller

			triggered, err := client.Events.Trigger(ctx, trigger, messaging.WithHeader("X-Caller", caller))
			if assert.NoError(t, err) {
				assert.Equal(t, caller, triggered.Message)
				assert.Equal(t, caller, triggered.Header.Get("X-Caller"))
			}
			sent, err := client.Broadcasts.SendPush(ctx, broadcast)
			if assert.NoError(t, err) {
				assert.Equal(t, caller, sent.Message)
			}
			customer, err := client.Customers.Get(ctx, caller)
			if assert.NoError(t, err) {
				assert.Equal(t, caller, customer.CustomerID)
			}
			events, err := messaging.Collect(client.Events.All(ctx, messaging.EventListParams{Cursor: caller}))
			if assert.NoError(t, err) && assert.Len(t, events, 3) {
				assert.Equal(t, []string{caller, caller + "+", caller + "++"}, []string{events[0].ID, events[1].ID, events[2].ID})
			}
		})
	}
	group.Wait()
}

// newEchoService answers with what it was asked. A trigger is answered when all
// callers have sent theirs.
func newEchoService(callers int32) http.Handler {
	var arrived atomic.Int32
	everybody := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/events/trigger", func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			EventID string `json:"event_id"`
		}
		_ = json.NewDecoder(r.Body).Decode(&body)
		if arrived.Add(1) == callers {
			close(everybody)
		}
		select {
		case <-everybody:
		case <-r.Context().Done():
		}
		w.Header().Set("X-Caller", r.Header.Get("X-Caller"))
		writeEcho(w, body.EventID, true, nil)
	})
	mux.HandleFunc("POST /v1/broadcast/send/push-notification", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Subject string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		writeEcho(w, body.Subject, nil, nil)
	})
	mux.HandleFunc("GET /v1/customers", func(w http.ResponseWriter, r *http.Request) {
		writeEcho(w, "", []any{map[string]any{"customer_id": r.FormValue("customer_ids")}}, nil)
	})
	mux.HandleFunc("GET /v1/events", func(w http.ResponseWriter, r *http.Request) {
		cursor := r.FormValue("cursor")
		writeEcho(w, "", []any{map[string]any{"id": cursor}},
			map[string]any{"has_next_page": !strings.HasSuffix(cursor, "++"), "next_page_cursor": cursor + "+"})
	})
	return mux
}

func writeEcho(w http.ResponseWriter, message string, data, meta any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"success": true, "message": message, "data": data, "meta": meta})
}

// What the README shows stands, line by line, in a file that is compiled and run.
func TestReadmeCodeCompiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	compiled := ""
	for _, path := range []string{"example_test.go", "example_httpmock_test.go", "otelmessaging/example_test.go",
		"examples/first/main.go", "examples/testing/shop_test.go"} {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		compiled += withoutIndentation(string(source))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		assert.True(t, strings.Contains(compiled, withoutIndentation(block[1])), "no example or test has this code:\n%s", block[1])
	}
}

func withoutIndentation(source string) string {
	var lines strings.Builder
	for line := range strings.Lines(source) {
		lines.WriteString(strings.TrimSpace(line) + "\n")
	}
	return lines.String()
}

// documentedRow is a row of the table of retries in the documentation.
type documentedRow struct{ what, read, send, delivery string }

const firstRow, lastRow = "not begun: arguments, key source, limiter, context", "2xx, success true, and data that cannot be read"

// documentedTable reads the table from a file whose cells separator parts.
func documentedTable(t *testing.T, path, prefix, separator string) []documentedRow {
	t.Helper()
	source, err := os.ReadFile(path)
	require.NoError(t, err)
	_, text, found := strings.Cut(string(source), prefix+firstRow)
	require.True(t, found, "the table in %s", path)
	var rows []documentedRow
	for line := range strings.Lines(firstRow + text) {
		cells := regexp.MustCompile(separator).Split(strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(line, prefix)), " |"), -1)
		require.Len(t, cells, 4, line)
		rows = append(rows, documentedRow{cells[0], cells[1], cells[2], cells[3]})
		if cells[0] == lastRow {
			break
		}
	}
	return rows
}

func TestRetryTableOfTheDocumentationIsTrue(t *testing.T) {
	documented := documentedTable(t, "doc.go", "//\t", ` {2,}`)

	all := slices.DeleteFunc(outcomes(), func(o outcome) bool { return o.failure == nil })
	for _, o := range otherOutcomes() {
		all = append(all, o.outcome)
	}
	seen := map[string]bool{}
	for _, o := range all {
		seen[o.row] = true
		want := documentedRow{o.row, yesOrNo(o.requests.read > 1), yesOrNo(o.requests.send > 1), o.delivery.String()}
		if want.send == "no" && o.requests.repeatable > 1 {
			want.send = "(1)"
		}
		assert.Contains(t, documented, want, o.name)
	}
	for _, row := range documented {
		assert.True(t, seen[row.what], "nothing shows that this is true: %s", row.what)
	}
}

func yesOrNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
