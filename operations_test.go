package messaging_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/messaging-go/messaging/internal/service"
)

func TestOperationsHaveAConstantEach(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "operations.go", nil, 0)
	require.NoError(t, err)
	declared := make(map[string]string)
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			declared[spec.Names[0].Name] = name
		}
		return true
	})
	want := make(map[string]string)
	for op := range service.All() {
		constant := "Op"
		for word := range strings.FieldsSeq(op.Name) {
			constant += strings.ToUpper(word[:1]) + word[1:]
		}
		want[constant] = op.Name
	}
	assert.Equal(t, want, declared, "the constants in operations.go, made from the names in internal/service")
}

// The table of the README names the route of every operation, in the order of the catalog.
func TestReadmeListsEveryOperation(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	var listed, routes []string
	for _, row := range regexp.MustCompile("(?m)^\\| `((?:GET|POST) [^`]*)` \\|").FindAllStringSubmatch(string(readme), -1) {
		listed = append(listed, row[1])
	}
	for operation := range service.All() {
		if operation.Reads == nil {
			routes = append(routes, operation.Route())
		}
	}
	assert.Equal(t, routes, listed)
}
