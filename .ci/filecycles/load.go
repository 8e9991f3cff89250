package main

import (
	"bytes"
	"encoding/json"
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

// load type-checks the packages in and below a directory, and returns the references
// between the files of each.
func load(dir string) (graphs []*graph, err error) {
	packages, exports, err := list(dir)
	if err != nil {
		return nil, err
	}
	for _, p := range packages {
		g, err := check(p, exports)
		if err != nil {
			return nil, err
		}
		graphs = append(graphs, g)
	}
	return graphs, nil
}

// list returns the packages in and below a directory, and by path the files with the
// exported API of each of their dependencies.
func list(dir string) (packages []listed, exports map[string]string, err error) {
	command := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles,CgoFiles,DepOnly", "./...")
	command.Dir = dir
	command.Stderr = os.Stderr
	output, err := command.Output()
	if err != nil {
		return nil, nil, fmt.Errorf("go list: %w", err)
	}
	exports = make(map[string]string)
	for decoder := json.NewDecoder(bytes.NewReader(output)); decoder.More(); {
		var p listed
		if err := decoder.Decode(&p); err != nil {
			return nil, nil, fmt.Errorf("cannot read the output of go list: %w", err)
		}
		exports[p.ImportPath] = p.Export
		switch {
		case p.DepOnly:
		case len(p.CgoFiles) > 0:
			return nil, nil, fmt.Errorf("%s uses cgo, which cannot be checked", p.ImportPath)
		default:
			packages = append(packages, p)
		}
	}
	return packages, exports, nil
}

func check(p listed, exports map[string]string) (*graph, error) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range p.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exports[path])
	})}
	pkg, err := config.Check(p.ImportPath, fset, files, info)
	if err != nil {
		return nil, err
	}
	g := &graph{path: p.ImportPath, files: p.GoFiles, references: make(map[edge]string)}
	for i, name := range g.files {
		g.addReferences(name, files[i], fset, pkg, info)
	}
	return g, nil
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
