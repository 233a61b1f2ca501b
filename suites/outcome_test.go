package main

import (
	"reflect"
	"testing"
)

func TestOutcomes(t *testing.T) {
	events := `{"Action":"run","Test":"A"}
{"Action":"run","Test":"A/one"}
{"Action":"output","Test":"A/one","Output":"    a_test.go:1: broker at 127.0.0.1:9092\n"}
{"Action":"pass","Test":"A/one"}
{"Action":"run","Test":"A/two"}
{"Action":"output","Test":"A/two","Output":"    a_test.go:9: got 1\n"}
{"Action":"output","Test":"A/two","Output":"--- FAIL: A/two\n"}
{"Action":"fail","Test":"A/two"}
{"Action":"fail","Test":"A"}
{"Action":"run","Test":"B"}
{"Action":"output","Test":"B","Output":"    b_test.go:1: not here\n"}
{"Action":"skip","Test":"B"}
{"Action":"run","Test":"C"}
`
	none := map[string]string{}
	for _, c := range []struct {
		name string
		read func([]byte) (outcome, error)
		text string
		want outcome
	}{
		{"go", goOutcome, events, outcome{1, map[string]string{"A/two": "a_test.go:9: got 1", "C": "did not end;"},
			map[string]string{"B": "b_test.go:1: not here"}}},
		{"go, marked", markedOutcome, events, outcome{1, none, map[string]string{"B": "b_test.go:1: not here"}}},
		{"junit", junitOutcome, `<testsuites><testsuite><testcase classname="m" name="a"/><testcase classname="m" name="b"><failure message="no"/></testcase>` +
			`<testcase classname="m" name="c"><error message="oh"/></testcase><testcase classname="m" name="d"><skipped message="why"/></testcase></testsuite></testsuites>`,
			outcome{1, map[string]string{"m.b": "no", "m.c": "oh"}, map[string]string{"m.d": "why"}}},
		{"junit of node", junitOutcome, `<testsuites><testcase name="a" classname="test" file="/x/y.test.ts"/><testsuite name="b">` +
			`<testcase name="c" classname="test" file="/x/y.test.ts"><failure message="no"/></testcase></testsuite></testsuites>`,
			outcome{1, map[string]string{"y.test.ts: b c": "no"}, none}},
		{"librdkafka", librdkafkaOutcome, "|\x1b[32m 0001_multiobj        |     PASSED |   1.000s \x1b[0m|\n" +
			"|\x1b[31m 0002_unkpart         |     FAILED |  10.000s \x1b[0m|\x1b[31m test_x():1: nothing came\x1b[0m\n" +
			"|\x1b[36m 0003_msgmaxsize      |    SKIPPED |   0.000s \x1b[0m|\x1b[36m no sasl\x1b[0m\n" +
			"|\x1b[36m 0107_topic_recreate  |    SKIPPED |   0.000s \x1b[0m|\x1b[36m \x1b[0m\n",
			outcome{1, map[string]string{"0002_unkpart": "FAILED: test_x():1: nothing came"}, map[string]string{"0003_msgmaxsize": "no sasl"}}},
		{"cargo", cargoOutcome, "test a::b ... ok\ntest c ... FAILED\ntest d ... ignored, needs two\n",
			outcome{1, map[string]string{"c": ""}, map[string]string{"d": "needs two"}}},
		{"lines", linesOutcome, "a line of a tool: ok\nok a/b=1\nfail c: E: no: end\nskip d: none here\n",
			outcome{1, map[string]string{"c": "E: no: end"}, map[string]string{"d": "none here"}}},
	} {
		got, err := c.read([]byte(c.text))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n got %+v\nwant %+v", c.name, err, got, c.want)
		}
	}
}

// TestReasons holds reasons.txt to its form, and that each line is about a suite that is run.
func TestReasons(t *testing.T) {
	all, err := readReasons("reasons.txt")
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{"*": true}
	for _, s := range suites() {
		names[s.Name] = true
	}
	for _, r := range all {
		if !names[r.suite] {
			t.Errorf("reasons.txt gives a reason for %q of %q, which is no suite", r.test, r.suite)
		}
	}
}
