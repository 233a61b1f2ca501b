package lint

import (
	"go/ast"
	"go/token"
	"slices"
	"testing"
)

// TestPackageVariables: a package holds no state. What may stand at its top is
// an error to compare with, a table that nothing writes to, an assertion that a
// type satisfies an interface, and what is computed once or only saves
// allocations: sync.OnceValue, sync.Pool, go:embed, and flags in tests.
func TestPackageVariables(t *testing.T) {
	packages := make(map[string][]*source)
	for _, s := range repository(t) {
		key := s.dir + " " + s.ast.Name.Name
		packages[key] = append(packages[key], s)
	}
	for _, files := range packages {
		for _, f := range variableFindings(files) {
			t.Errorf("%s: %s", f.at, f.what)
		}
	}
}

// variableFindings looks at the files of one package.
func variableFindings(files []*source) []finding {
	var all []finding
	names := make(map[string]bool)
	for _, s := range files {
		for _, d := range s.ast.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok || group.Tok != token.VAR {
				continue
			}
			for _, spec := range group.Specs {
				value := spec.(*ast.ValueSpec)
				embedded := group.Doc != nil && isEmbed(group.Doc) || value.Doc != nil && isEmbed(value.Doc)
				if embedded {
					continue
				}
				all = append(all, s.variable(value, names)...)
			}
		}
	}
	for _, s := range files {
		all = append(all, s.writes(names)...)
	}
	return all
}

// variable judges one declaration, and notes the names that must not be written.
func (s *source) variable(spec *ast.ValueSpec, names map[string]bool) []finding {
	var all []finding
	for i, name := range spec.Names {
		if name.Name == "_" {
			continue
		}
		names[name.Name] = true
		switch {
		case len(spec.Values) == 0 && !isPool(spec.Type):
			all = append(all, s.find(name.Pos(), "package variable %s starts empty, so something writes to it: "+
				"put it into the struct that uses it", name.Name))
		case i < len(spec.Values) && !isConstantValue(spec.Values[i]):
			all = append(all, s.find(name.Pos(), "package variable %s holds something that changes: "+
				"put it into the struct that uses it", name.Name))
		}
	}
	return all
}

// isPool is true for sync.Pool and arrays of it: what is in one does not matter.
func isPool(t ast.Expr) bool {
	switch t := t.(type) {
	case *ast.ArrayType:
		return isPool(t.Elt)
	case *ast.SelectorExpr:
		pkg, ok := t.X.(*ast.Ident)
		return ok && pkg.Name == "sync" && t.Sel.Name == "Pool"
	}
	return false
}

// isConstantValue says whether a value can be a table or a sentinel.
func isConstantValue(e ast.Expr) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		return e.Op != token.AND || isConstantValue(e.X)
	case *ast.CallExpr:
		switch f := e.Fun.(type) {
		case *ast.Ident:
			return f.Name != "make" && f.Name != "new"
		case *ast.SelectorExpr:
			pkg, ok := f.X.(*ast.Ident)
			return !ok || pkg.Name != "sync" || slices.Contains([]string{"OnceValue", "OnceValues", "OnceFunc"}, f.Sel.Name)
		}
	case *ast.CompositeLit:
		t, ok := e.Type.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		pkg, ok := t.X.(*ast.Ident)
		return !ok || pkg.Name != "atomic" && (pkg.Name != "sync" || t.Sel.Name == "Pool")
	}
	return true
}

func isEmbed(doc *ast.CommentGroup) bool {
	return slices.ContainsFunc(doc.List, func(c *ast.Comment) bool {
		return len(c.Text) > 10 && c.Text[:10] == "//go:embed"
	})
}

// writes finds assignments to the named package variables or to parts of them.
func (s *source) writes(names map[string]bool) []finding {
	var all []finding
	check := func(target ast.Expr) {
		if name := s.packageVariable(target, names); name != nil {
			all = append(all, s.find(target.Pos(), "package variable %s is written to: a package holds no state; "+
				"put it into the struct that uses it", name.Name))
		}
	}
	ast.Inspect(s.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			if n.Tok != token.DEFINE {
				for _, target := range n.Lhs {
					check(target)
				}
			}
		case *ast.IncDecStmt:
			check(n.X)
		case *ast.CallExpr:
			if f, ok := n.Fun.(*ast.Ident); ok && slices.Contains([]string{"delete", "clear", "copy"}, f.Name) && len(n.Args) > 0 {
				check(n.Args[0])
			}
		}
		return true
	})
	return all
}

// packageVariable is the package variable that an expression is rooted at, or
// nil when that is a local name.
func (s *source) packageVariable(e ast.Expr, names map[string]bool) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			if !names[x.Name] || x.Obj != nil && s.ast.Scope.Lookup(x.Name) != x.Obj {
				return nil
			}
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
