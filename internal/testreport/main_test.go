package main

import (
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	in := `{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet\n"}
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestB","Output":"why it failed\n"}
{"Action":"fail","Package":"p","Test":"TestB","Elapsed":0.1}
{"Action":"output","Package":"p","Test":"TestC","Output":"needs java\n"}
{"Action":"skip","Package":"p","Test":"TestC","Elapsed":0}
{"Action":"fail","Package":"p","Elapsed":0.5}
{"Action":"output","Package":"q","Output":"does not build\n"}
{"Action":"fail","Package":"q","Elapsed":0}
`
	var out strings.Builder
	if code := run(strings.NewReader(in), &out); code != 1 {
		t.Errorf("exit code %d, expected 1", code)
	}
	want := "why it failed\nneeds java\nfail  p 0.5s\ndoes not build\nfail  q 0.0s\n1 passed, 2 failed, 1 skipped\n"
	if out.String() != want {
		t.Errorf("printed %q, expected %q", out.String(), want)
	}
}

func TestReportOfSuccess(t *testing.T) {
	var out strings.Builder
	if code := run(strings.NewReader(`{"Action":"pass","Package":"p","Test":"TestA"}`), &out); code != 0 {
		t.Errorf("exit code %d after %q", code, out.String())
	}
	if code := run(strings.NewReader(""), &out); code != 1 {
		t.Error("no test at all counts as success")
	}
}
