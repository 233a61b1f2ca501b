package lint

import (
	"go/ast"
	"testing"
)

const (
	maxFileLines     = 600
	maxFunctionLines = 70
)

func TestFileLength(t *testing.T) {
	apply(t, fileLengthRule)
}

func fileLengthRule(s *source) []finding {
	if s.lines <= maxFileLines {
		return nil
	}
	return []finding{s.find(s.ast.Name.Pos(), "the file has %d lines, more than %d: it holds more than one noun; "+
		"move one of them to a file of its own", s.lines, maxFileLines)}
}

func TestFunctionLength(t *testing.T) {
	apply(t, functionLengthRule)
}

func functionLengthRule(s *source) []finding {
	var all []finding
	for _, d := range s.ast.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		lines := s.fset.Position(f.End()).Line - s.fset.Position(f.Pos()).Line + 1
		if lines > maxFunctionLines {
			all = append(all, s.find(f.Pos(), "%s has %d lines, more than %d: keep the branches here and move "+
				"the steps to functions named after what is true afterwards", f.Name.Name, lines, maxFunctionLines))
		}
	}
	return all
}
