package lint

import (
	"go/ast"
	"go/token"
	"path"
	"strings"
	"testing"
)

func TestForbiddenCalls(t *testing.T) {
	apply(t, callRule)
}

func callRule(s *source) []finding {
	var all []finding
	s.calls(func(call *ast.CallExpr, name string) {
		if advice := s.adviceOn(name); advice != "" {
			all = append(all, s.find(call.Pos(), "%s: %s", name, advice))
		}
	})
	return all
}

// adviceOn says what to do instead of a call that must not be here.
func (s *source) adviceOn(name string) string {
	library := !s.isTest() && !s.isMain()
	switch name {
	case "time.Sleep":
		if s.isTest() && s.imports("testing/synctest") {
			return "" // the clock of a bubble
		}
		return "wait for the event itself (a channel, a context, a condition), or use testing/synctest in a test"
	case "fmt.Print", "fmt.Printf", "fmt.Println", "print", "println":
		if library {
			return "a library does not write to standard output: log with the *slog.Logger of its options, or return it"
		}
	case "panic":
		if library {
			return "return an error; only a programming mistake in a test may panic"
		}
	case "os.Exit", "log.Fatal", "log.Fatalf", "log.Fatalln":
		if library {
			return "return an error; only main may end the process"
		}
	}
	return ""
}

func TestInitFunctions(t *testing.T) {
	apply(t, initRule)
}

func initRule(s *source) []finding {
	var all []finding
	for _, d := range s.ast.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Name.Name == "init" {
			all = append(all, s.find(f.Pos(), "init: set things up in a constructor, or write the table as a literal"))
		}
	}
	return all
}

func TestErrorTexts(t *testing.T) {
	apply(t, errorTextRule)
}

func errorTextRule(s *source) []finding {
	var all []finding
	s.calls(func(call *ast.CallExpr, name string) {
		if name != "errors.New" && name != "fmt.Errorf" || len(call.Args) == 0 {
			return
		}
		text, ok := call.Args[0].(*ast.BasicLit)
		if ok && text.Kind == token.STRING && strings.Contains(strings.ToLower(text.Value), "failed to") {
			all = append(all, s.find(text.Pos(), "%s: an error is a failure already; say what was done and to what, "+
				`as in "append segment %%020d: %%w"`, text.Value))
		}
	})
	return all
}

func TestNames(t *testing.T) {
	apply(t, nameRule)
}

func nameRule(s *source) []finding {
	var all []finding
	for _, part := range strings.Split(s.path, "/") {
		stem, _, _ := strings.Cut(strings.TrimSuffix(part, path.Ext(part)), "_")
		switch stem {
		case "util", "utils", "common", "types", "helper", "helpers", "misc":
			all = append(all, s.find(s.ast.Name.Pos(), "%q says nothing: name it after the noun that it holds", part))
		}
	}
	return all
}

// TestMachinePaths looks at all files, not only at Go.
func TestMachinePaths(t *testing.T) {
	// Put together, so that this file is not its own finding.
	forbidden := []string{"/wo" + "rk/", "/ro" + "ot/", "/ho" + "me/"}
	walk(t, func(name string, content []byte) {
		for number, line := range strings.Split(string(content), "\n") {
			for _, bad := range forbidden {
				if strings.Contains(line, bad) {
					t.Errorf("%s:%d: %q is a place on one machine: use a flag, an environment variable or a relative path",
						name, number+1, bad)
				}
			}
		}
	})
}
