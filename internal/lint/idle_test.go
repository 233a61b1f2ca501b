package lint

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

// TestIdleSettings: config/idle.go lists the settings that nothing reads, and people are told so. One that is read after all must be
// taken off the list.
func TestIdleSettings(t *testing.T) {
	idle := map[string]bool{}
	sources := repository(t)
	for _, s := range sources {
		if s.path == "config/idle.go" {
			literals(s, func(text string, _ token.Pos) { idle[text] = true })
		}
	}
	if len(idle) < 100 {
		t.Fatalf("only %d settings in config/idle.go", len(idle))
	}
	tables := []string{"idle.go", "brokersettings.go", "topicsettings.go", "groupsettings.go", "notice.go", "startcheck.go", "secrets.go", "setting.go", "quorum.go"}
	for _, s := range sources {
		if s.isTest() || s.dir == "cmd/kafkatools" || s.dir == "config" && strings.Contains(strings.Join(tables, " "), path.Base(s.path)) {
			continue
		}
		literals(s, func(text string, at token.Pos) {
			if idle[text] && strings.Contains(text, ".") {
				f := s.find(at, "setting %s is read here: take it off the list in config/idle.go, which tells people that it has no effect", text)
				t.Errorf("%s: %s", f.at, f.what)
			}
		})
	}
}

// literals calls fn for every string of a file.
func literals(s *source, fn func(text string, at token.Pos)) {
	ast.Inspect(s.ast, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			fn(strings.Trim(lit.Value, "`\""), lit.Pos())
		}
		return true
	})
}
