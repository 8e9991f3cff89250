package copies_test

import (
	"go/parser"
	"go/token"
)

// parses returns why a text is not Go code.
func parses(code string) error {
	_, err := parser.ParseFile(token.NewFileSet(), "code.go", code, parser.SkipObjectResolution)
	return err
}
