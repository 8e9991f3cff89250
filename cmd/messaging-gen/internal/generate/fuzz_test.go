package generate

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/definitions"
	"github.com/messaging-go/messaging/cmd/messaging-gen/internal/strictjson"
)

// compiled returns an importer of the packages that generated code uses.
var compiled = sync.OnceValues(func() (types.Importer, error) {
	list, err := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}",
		"github.com/messaging-go/messaging").Output()
	if err != nil {
		return nil, err
	}
	exports := make(map[string]string)
	for line := range strings.Lines(string(list)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		exports[path] = file
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }), nil
})

// compile checks files of one package as the compiler does.
func compile(t *testing.T, sources ...[]byte) {
	imports, err := compiled()
	require.NoError(t, err)
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, source := range sources {
		file, err := parser.ParseFile(fset, "", source, parser.ParseComments|parser.SkipObjectResolution)
		require.NoError(t, err)
		parsed = append(parsed, file)
	}
	_, err = (&types.Config{Importer: imports}).Check("events", fset, parsed, nil)
	require.NoError(t, err, "%s", sources[0])
}

// FuzzDefinitionsCompile generates code for any definitions and any gen.json. If names need
// lines in gen.json, the lines of the error are enough.
func FuzzDefinitionsCompile(f *testing.F) {
	f.Add("Order shipped;A parcel;order id!;parcels;🎉;at;at!|order-shipped|Order shipped params|Number;;number", "{}")
	f.Add("A;\u202e\n*/;type!;Type;a.b;a-b;email!;customer|A params|a|!|!!|a\u202eb|\u3164", `{"rename": {"A.type": "AB", "A": "B"}}`)
	f.Add("A ``b'' \u2028; # a\n  - list `x` ``quoted'' [link]: http://x  \t- y;c ``d!;``;+build linux;e   f\u00a0 |\u3000;;go:build x", "{}")
	f.Add("a;;b.c;c|a.b;;c|a.b.c|注文;ß;2", `{"allow_empty": ["A.1"]}`)
	f.Add(strings.Repeat("long ", 60), `{"rename": {"": "type"}}`)
	f.Fuzz(func(t *testing.T, text, config string) {
		list, err := definitions.Parse("events.json", []byte(manyNames(text).JSON()))
		if err != nil {
			isNamed(t, err)
			return
		}
		c := Config{path: "gen.json"}
		if err := strictjson.Decode([]byte(config), &c); err != nil {
			isNamed(t, err)
			return
		}
		events, support, err := code(list, c, "events", "events.json")
		for i := 0; err != nil && strings.Contains(err.Error(), "with names of your choice"); i++ {
			isNamed(t, err)
			require.Less(t, i, 4, "the lines of the error are not enough: %v", err)
			c.add(t, err)
			events, support, err = code(list, c, "events", "events.json")
		}
		if err != nil {
			isNamed(t, err)
			return
		}
		compile(t, events, support)
	})
}

// manyNames returns definitions with the names and the descriptions in text.
func manyNames(text string) (list definitions.List) {
	for definition := range strings.SplitSeq(text, "|") {
		words := strings.Split(definition, ";")
		event := definitions.Event{Name: words[0], Parameters: []definitions.Parameter{}}
		if len(words) > 1 {
			event.Description = words[1]
		}
		for _, word := range words[min(2, len(words)):] {
			name, required := strings.CutSuffix(word, "!")
			kind := []messaging.ParameterType{"text", "numeric", "timestamp", "uuid", messaging.ParameterType(name)}[len(name)%5]
			event.Parameters = append(event.Parameters, definitions.Parameter{Name: name, Type: kind, Required: required})
		}
		list = append(list, event)
	}
	return list
}

// add replaces the renames of gen.json by those of an error.
func (c *Config) add(t *testing.T, err error) {
	_, member, _ := strings.Cut(err.Error(), "with names of your choice:\n")
	c.Rename = configOf(t, "{"+member+"}").Rename
	require.NotEmpty(t, c.Rename)
}

// isNamed checks that every line of an error says something that a terminal can show.
func isNamed(t *testing.T, err error) {
	for line := range strings.Lines(err.Error()) {
		line = strings.TrimSuffix(line, "\n")
		assert.False(t, strings.ContainsFunc(line, unicode.IsControl), "%q", line)
	}
}
