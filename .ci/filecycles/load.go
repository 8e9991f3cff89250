package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// listed is what the go command says about a package.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, CgoFiles       []string
	DepOnly                 bool
}

// load type-checks the package in a directory and returns the references between its
// files.
func load(dir string) (*graph, error) {
	target, exports, err := list(dir)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	files := make(map[string]*ast.File)
	var syntax []*ast.File
	for _, name := range target.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(target.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files[name] = file
		syntax = append(syntax, file)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	pkg, err := config.Check(target.ImportPath, fset, syntax, info)
	if err != nil {
		return nil, err
	}
	g := &graph{files: target.GoFiles, references: make(map[edge]string)}
	for _, name := range g.files {
		g.addReferences(name, files[name], fset, pkg, info)
	}
	return g, nil
}

// list returns the package in a directory, and the files with the exported API of each
// of its dependencies.
func list(dir string) (target listed, exports map[string]string, err error) {
	command := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,DepOnly", ".")
	command.Dir = dir
	command.Stderr = os.Stderr
	output, err := command.StdoutPipe()
	if err != nil {
		return listed{}, nil, err
	}
	if err := command.Start(); err != nil {
		return listed{}, nil, err
	}
	exports = make(map[string]string)
	decoder := json.NewDecoder(output)
	for {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return listed{}, nil, errors.Join(fmt.Errorf("cannot read the output of go list: %w", err), command.Wait())
		}
		exports[p.ImportPath] = p.Export
		if !p.DepOnly {
			target = p
		}
	}
	if err := command.Wait(); err != nil {
		return listed{}, nil, fmt.Errorf("go list: %w", err)
	}
	if len(target.CgoFiles) > 0 {
		return listed{}, nil, errors.New("files that use cgo cannot be checked")
	}
	return target, exports, nil
}

// addReferences adds what a file uses of other files. An object of another package, or
// without a position, is in no file of this one.
func (g *graph) addReferences(name string, file *ast.File, fset *token.FileSet, pkg *types.Package, info *types.Info) {
	ast.Inspect(file, func(n ast.Node) bool {
		identifier, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		used := info.Uses[identifier]
		if used == nil || used.Pkg() != pkg || !used.Pos().IsValid() {
			return true
		}
		e := edge{name, filepath.Base(fset.File(used.Pos()).Name())}
		if _, known := g.references[e]; !known && e.from != e.to {
			g.references[e] = fmt.Sprintf("%s, line %d", describe(used), fset.Position(identifier.Pos()).Line)
		}
		return true
	})
}

// describe names an object as readers do: a method with its type, a field as one.
func describe(object types.Object) string {
	switch o := object.(type) {
	case *types.Var:
		if o.IsField() {
			return "field " + o.Name()
		}
	case *types.Func:
		if receiver := o.Signature().Recv(); receiver != nil {
			return fmt.Sprintf("method (%s).%s", types.TypeString(receiver.Type(), types.RelativeTo(o.Pkg())), o.Name())
		}
	}
	return object.Name()
}
