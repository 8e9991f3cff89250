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
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
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

// methodCall is a call of a method of the client, and the routes of the operations that
// it performs.
type methodCall struct {
	call   scripted.Call
	routes []string
}

// methodCalls are the entries of the kit by the names of methods.
func methodCalls() map[string]methodCall {
	methods := make(map[string]methodCall)
	for _, entry := range scripted.Operations {
		for name, call := range entry.Calls {
			methods[name] = methodCall{call, append(methods[name].routes, entry.Route())}
		}
	}
	return methods
}

func TestDocumentedOperationsAreThoseOfTheKit(t *testing.T) {
	methods := methodCalls()
	documented := documentedOperations(t)
	for name, routes := range documented {
		method, known := methods[name]
		if assert.True(t, known, "add %s to the calls of its operation in internal/kit/scripted/operations.go", name) {
			assert.ElementsMatch(t, method.routes, routes, "the API: lines of %s, and the operations that it performs", name)
		}
	}
	for name := range methods {
		assert.NotEmpty(t, documented[name], "internal/kit/scripted/operations.go names %s, which no service has", name)
	}
}

func TestDocumentedOperationsAreThoseThatAMethodCalls(t *testing.T) {
	methods := methodCalls()
	for method, documented := range documentedOperations(t) {
		t.Run(method, func(t *testing.T) {
			call := methods[method].call
			require.NotNil(t, call, "add it to internal/kit/scripted/operations.go")
			recorder := scripted.NewRecorder(t, `HTTP/1.1 200 OK`+"\n\n"+`{"success": true, "data": null}`)
			_ = call(t.Context(), recorder.Dial(t, atTheRoot))
			var called []string
			for _, request := range recorder.Recorded() {
				called = append(called, operationOf(t, request, ""))
			}
			assert.Equal(t, documented, called)
		})
	}
}

func TestDocumentedOperationIsServedInMemory(t *testing.T) {
	for name, method := range methodCalls() {
		t.Run(name, func(t *testing.T) {
			server := messagingtest.NewServer(t)
			_ = method.call(t.Context(), server.Client())
			require.NotEmpty(t, server.Requests())
			for _, request := range server.Requests() {
				assert.NotContains(t, []int{http.StatusNotFound, http.StatusMethodNotAllowed}, request.StatusCode,
					"add a handler to messagingtest/")
			}
		})
	}
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
	require.ElementsMatch(t, servicesOfTheClient(), services, "types named Service, and the fields of Client")
	return documented
}

// servicesOfTheClient are the names of the types of the exported fields of Client.
func servicesOfTheClient() []string {
	var services []string
	for field := range reflect.TypeFor[messaging.Client]().Fields() {
		if field.IsExported() {
			services = append(services, field.Type.Elem().Name())
		}
	}
	return services
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
	for name, build := range everyRequest() {
		t.Run(name, func(t *testing.T) {
			request, untouched := build(), build()
			recorder := scripted.NewRecorder(t, `HTTP/1.1 200 OK`+"\n\n"+`{"success": true, "data": null}`)
			_ = request.Call(t.Context(), recorder.Dial(t, atTheRoot))
			assert.Len(t, recorder.Recorded(), 1, "the call got as far as the wire")
			if p, ok := request.Params.(messaging.EventTriggerParams); ok && p.Definition != nil {
				_ = p.Definition.Validate(p)
			}
			assert.Equal(t, untouched.Params, request.Params)
			assert.Equal(t, wholeArrays(reflect.ValueOf(untouched.Params)), wholeArrays(reflect.ValueOf(request.Params)))
		})
	}
}

// everyRequest builds, alike each time, the requests of the kit.
func everyRequest() map[string]func() scripted.Request {
	requests := make(map[string]func() scripted.Request)
	for _, send := range scripted.Sends() {
		for i, build := range send.Requests {
			requests[fmt.Sprint(send.Name, " ", i)] = build
		}
	}
	for _, list := range scripted.Lists() {
		requests[list.Name] = list.Request
	}
	return requests
}

// wholeArrays returns the arrays behind all slices that a value leads to, up to their
// capacity: where an append would write.
func wholeArrays(v reflect.Value) (arrays []any) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			arrays = wholeArrays(v.Elem())
		}
	case reflect.Struct:
		for field, value := range v.Fields() {
			if field.IsExported() {
				arrays = append(arrays, wholeArrays(value)...)
			}
		}
	case reflect.Slice:
		arrays = append(arrays, v.Slice(0, v.Cap()).Interface())
		for i := range v.Len() {
			arrays = append(arrays, wholeArrays(v.Index(i))...)
		}
	}
	return arrays
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
