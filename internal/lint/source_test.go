package lint

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// source is one Go file of the repository.
type source struct {
	path  string // from the root of the repository, with slashes
	dir   string // of path; "." is the root
	fset  *token.FileSet
	ast   *ast.File
	lines int
}

func (s *source) isTest() bool { return strings.HasSuffix(s.path, "_test.go") }
func (s *source) isMain() bool { return s.ast.Name.Name == "main" }

// finding is one breach of a rule: where, what, and what to do.
type finding struct {
	at   string // path:line
	what string
}

func (s *source) find(pos token.Pos, format string, args ...any) finding {
	return finding{
		at:   fmt.Sprintf("%s:%d", s.path, s.fset.Position(pos).Line),
		what: fmt.Sprintf(format, args...),
	}
}

// rule looks at one file.
type rule func(s *source) []finding

// apply runs a rule over the whole repository.
func apply(t *testing.T, r rule) {
	t.Helper()
	for _, s := range repository(t) {
		for _, f := range r(s) {
			t.Errorf("%s: %s", f.at, f.what)
		}
	}
}

// root is the directory that holds go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("no go.mod in this directory or above it")
		}
		dir = up
	}
}

// walk calls fn for every file of the repository that is not hidden, not test
// data, and not built.
func walk(t *testing.T, fn func(name string, content []byte)) {
	t.Helper()
	base := root(t)
	err := filepath.WalkDir(base, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(base, p)
		hidden := strings.HasPrefix(d.Name(), ".") && name != "."
		if d.IsDir() && (hidden || d.Name() == "testdata" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if d.IsDir() || hidden || !d.Type().IsRegular() {
			return nil
		}
		content, err := os.ReadFile(p)
		if err == nil {
			fn(filepath.ToSlash(name), content)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// repository parses all Go files.
func repository(t *testing.T) []*source {
	t.Helper()
	var all []*source
	walk(t, func(name string, content []byte) {
		if strings.HasSuffix(name, ".go") {
			all = append(all, parse(t, name, content))
		}
	})
	return all
}

func parse(t *testing.T, name string, content []byte) *source {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, content, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return &source{path: name, dir: path.Dir(name), fset: fset, ast: file, lines: bytes.Count(content, []byte("\n"))}
}

// calls reports each call of a function of an imported package, as "fmt.Println",
// and each call of a builtin or local function by its bare name.
func (s *source) calls(fn func(call *ast.CallExpr, name string)) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			if f.Obj == nil { // not declared in this file
				fn(call, f.Name)
			}
		case *ast.SelectorExpr:
			if pkg, ok := f.X.(*ast.Ident); ok && pkg.Obj == nil {
				fn(call, pkg.Name+"."+f.Sel.Name)
			}
		}
		return true
	})
}

func (s *source) imports(path string) bool {
	for _, i := range s.ast.Imports {
		if i.Path.Value == `"`+path+`"` {
			return true
		}
	}
	return false
}
