package messaging_test

import (
	"fmt"
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

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
			rec := &recorder{response: `HTTP/1.1 200 OK` + "\n\n" + `{"success": true, "data": null}`}
			_ = call(t.Context(), rec.dial(t, atTheRoot))
			var called []string
			for _, request := range rec.recorded() {
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
		declarations = append(declarations, name.declaration)
	}
	slices.Sort(declarations)
	if *updateGoldens {
		require.NoError(t, os.WriteFile(path, []byte(strings.Join(declarations, "\n")+"\n"), 0o644))
	}
	golden, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to write it")
	listed := strings.Split(strings.TrimSuffix(string(golden), "\n"), "\n")
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(line string) bool { return slices.Contains(others, line) })
	}
	assert.Empty(t, without(declarations, listed), "not in %s: run the test with -update", path)
	assert.Empty(t, without(listed, declarations), "in %s, and exported no more", path)
	assert.Equal(t, len(listed), len(declarations), "lines of %s", path)
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

func TestModulesThatAreLinkedAreListed(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}", ".").Output()
	require.NoError(t, err)
	linked := slices.Compact(slices.Sorted(strings.FieldsSeq(string(output))))
	_, after, _ := strings.Cut(parsePackage(t).Doc, "modules are linked into your program.")
	paragraph, _, _ := strings.Cut(after, "\n\n")
	listed := slices.Sorted(slices.Values(regexp.MustCompile(`(github\.com|golang\.org)(/[\w-]+)+`).FindAllString(paragraph, -1)))
	assert.Equal(t, linked, listed, "the modules that doc.go lists")
}

func TestVersionIsTheLatestOfTheChangelog(t *testing.T) {
	changelog, err := os.ReadFile("CHANGELOG.md")
	require.NoError(t, err)
	latest := regexp.MustCompile(`(?m)^## \[?(\d+\.\d+\.\d+[^\s\]]*)`).FindSubmatch(changelog)
	require.NotNil(t, latest, "a heading such as ## 0.1.0")
	assert.Equal(t, string(latest[1]), messaging.Version)
}

func TestParamsAreNotModifiedByAnyCall(t *testing.T) {
	for name, build := range everyRequest() {
		t.Run(name, func(t *testing.T) {
			request, untouched := build(), build()
			rec := &recorder{response: `HTTP/1.1 200 OK` + "\n\n" + `{"success": true, "data": null}`}
			_ = request.Call(t.Context(), rec.dial(t, atTheRoot))
			assert.Len(t, rec.recorded(), 1, "the call got as far as the wire")
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

// What the README shows stands, line by line, in a file that is compiled and run.
func TestReadmeCodeCompiles(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	compiled := ""
	for _, path := range []string{"example_test.go", "example_httpmock_test.go", "otelmessaging/example_test.go",
		"examples/first/main.go", "messagingtest/faults_test.go"} {
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
