package lint

import (
	"strings"
	"testing"
)

// TestRulesFind: each rule finds what it is there for, and lets pass what is fine.
func TestRulesFind(t *testing.T) {
	variables := func(s *source) []finding { return variableFindings([]*source{s}) }
	long := "package x\n" + strings.Repeat("\n", maxFileLines)
	body := "package x\nfunc f() {\n" + strings.Repeat("\n", maxFunctionLines-2) + "}\n"
	tests := []struct {
		name, path, code string
		rule             rule
		want             int
	}{
		{"import upwards", "record/a.go", "package record\nimport \"minibroker/logstore\"\n", importRule, 1},
		{"import in the table", "logstore/a.go", "package logstore\nimport \"minibroker/record\"\nimport \"os\"\n", importRule, 0},
		{"foreign import", "logstore/a.go", "package logstore\nimport \"" + kmsgPath + "\"\n", importRule, 1},
		{"foreign import below a listed path", "record/a.go", "package record\nimport \"github.com/klauspost/compress/zstd\"\n", importRule, 0},
		{"test imports from below", "server/a_test.go", "package server\nimport \"minibroker/record\"\nimport \"" + kmsgPath + "\"\n", importRule, 0},
		{"test imports from above", "server/a_test.go", "package server\nimport \"minibroker/handlers\"\n", importRule, 1},
		{"unknown package", "other/a.go", "package other\n", importRule, 1},
		{"long file", "x/a.go", long, fileLengthRule, 1},
		{"long function", "x/a.go", strings.Replace(body, "{\n", "{\n\n", 1), functionLengthRule, 1},
		{"function of the limit", "x/a.go", body, functionLengthRule, 0},
		{"sleep", "x/a.go", "package x\nfunc f() { time.Sleep(1) }\n", callRule, 1},
		{"sleep in a test", "x/a_test.go", "package x\nfunc f() { time.Sleep(1) }\n", callRule, 1},
		{"sleep in a bubble", "x/a_test.go", "package x\nimport \"testing/synctest\"\nfunc f() { time.Sleep(1) }\n", callRule, 0},
		{"print and panic", "x/a.go", "package x\nfunc f() { fmt.Println(1); panic(2); os.Exit(1) }\n", callRule, 3},
		{"print in main", "x/a.go", "package main\nfunc f() { fmt.Println(1); os.Exit(1) }\n", callRule, 0},
		{"method called panic", "x/a.go", "package x\nfunc f(a A) { a.panic(); a.Sleep(1) }\n", callRule, 0},
		{"init", "x/a.go", "package x\nfunc init() {}\nfunc (a A) init() {}\n", initRule, 1},
		{"failed to", "x/a.go", "package x\nfunc f() { errors.New(\"Failed to x\"); fmt.Errorf(\"open: %w\", e) }\n", errorTextRule, 1},
		{"file name", "x/util_test.go", "package x\n", nameRule, 1},
		{"directory name", "common/a.go", "package common\n", nameRule, 1},
		{"good name", "x/commonlog.go", "package x\n", nameRule, 0},
		{"no docs", "x/a.go", "package x\ntype A struct{}\nfunc (a *A) F() {}\nfunc G() {}\nconst C = 1\nvar V = 1\n", docRule, 5},
		{"docs", "x/a.go", "package x\n// A is.\ntype A struct{}\n// F does.\nfunc (a *A) F() {}\nfunc (b b) G() {}\nconst C = 1 // one\n// All.\nvar (\nV = 1\n)\n", docRule, 0},
		{"empty variable", "x/a.go", "package x\nvar a int\nvar b sync.Mutex\n", variables, 2},
		{"made variable", "x/a.go", "package x\nvar a = make(map[int]int)\nvar b = &atomic.Int64{}\nvar c = new(T)\n", variables, 3},
		{"tables", "x/a.go", "package x\nvar a = [...]int{1}\nvar _ I = T{}\nvar ErrX = errors.New(\"x\")\nvar p = sync.Pool{}\nvar q [2]sync.Pool\nvar o = sync.OnceValue(f)\n", variables, 0},
		{"written table", "x/a.go", "package x\nvar a = []int{1}\nfunc f() { a[0] = 2; a = nil; delete(a, 1) }\n", variables, 3},
		{"local of the same name", "x/a.go", "package x\nvar a = []int{1}\nfunc f() { a := 1; a = 2; a++ }\n", variables, 0},
		{"embedded", "x/a.go", "package x\n//go:embed t.txt\nvar a string\n", variables, 0},
	}
	for _, test := range tests {
		found := test.rule(parse(t, test.path, []byte(test.code)))
		if len(found) != test.want {
			t.Errorf("%s: %d findings, want %d: %v", test.name, len(found), test.want, found)
		}
	}
}
