package lint

import (
	"go/ast"
	"testing"
)

func TestExportedNamesAreDocumented(t *testing.T) {
	apply(t, docRule)
}

func docRule(s *source) []finding {
	if s.isTest() || s.isMain() {
		return nil
	}
	var all []finding
	missing := func(name *ast.Ident) {
		all = append(all, s.find(name.Pos(), "exported %s has no doc comment: say what it is, in which units, "+
			"and which errors it gives", name.Name))
	}
	for _, d := range s.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) {
				missing(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				for _, name := range undocumented(d, spec) {
					missing(name)
				}
			}
		}
	}
	return all
}

// exportedReceiver is true for functions and for methods of exported types.
func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	t := f.Recv.List[0].Type
	for {
		switch e := t.(type) {
		case *ast.StarExpr:
			t = e.X
		case *ast.IndexExpr:
			t = e.X
		case *ast.IndexListExpr:
			t = e.X
		case *ast.Ident:
			return e.IsExported()
		default:
			return false
		}
	}
}

// undocumented lists the exported names of a declaration that neither have a
// comment nor stand in a group that has one.
func undocumented(d *ast.GenDecl, spec ast.Spec) []*ast.Ident {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && d.Doc == nil && spec.Doc == nil {
			return []*ast.Ident{spec.Name}
		}
	case *ast.ValueSpec:
		if d.Doc != nil || spec.Doc != nil || spec.Comment != nil {
			return nil
		}
		var all []*ast.Ident
		for _, name := range spec.Names {
			if name.IsExported() {
				all = append(all, name)
			}
		}
		return all
	}
	return nil
}
