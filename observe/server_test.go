package observe

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestHealthAndProfiles(t *testing.T) {
	o := open(t)
	for path, want := range map[string]string{
		"/healthz": "ok", "/readyz": "ok", "/debug/pprof/": "/debug/pprof/goroutine", "/debug/pprof/goroutine?debug=1": "goroutine profile: total",
		"/debug/pprof/heap?gc=1&debug=1": "heap profile", "/debug/pprof/profile?seconds=1": "", "/debug/pprof/trace?seconds=1": "go 1.",
	} {
		status, body := get(t, o.monitor+path)
		if status != http.StatusOK || len(body) == 0 || !strings.Contains(body, want) {
			t.Errorf("%s: %d, %d bytes", path, status, len(body))
		}
	}
	if status, body := get(t, o.monitor+"/debug/pprof/nothing"); status != http.StatusNotFound || !strings.Contains(body, "lists them") {
		t.Errorf("an unknown profile: %d %s", status, body)
	}
	if status, _ := get(t, o.monitor+"/faults"); status != http.StatusNotFound {
		t.Errorf("faults on the monitor's port: %d", status)
	}
}

func TestTakenPort(t *testing.T) {
	s, err := Listen("127.0.0.1:0", http.NotFoundHandler(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(s.Addr().String(), http.NotFoundHandler(), nil); err == nil || !strings.Contains(err.Error(), "choose another") {
		t.Errorf("a taken port: %v", err)
	}
	if err := s.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestControl: rules come, are listed, harm and go, and wrong ones are refused with what is wrong.
func TestControl(t *testing.T) {
	o := open(t)
	ask := func(method, path, body string) (int, string) {
		t.Helper()
		req, err := http.NewRequest(method, o.control+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		data, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, strings.TrimSpace(string(data))
	}
	for _, step := range []struct {
		method, path, body string
		status             int
		says               string
	}{
		{"GET", "/faults", "", 200, "[]"},
		{"POST", "/faults", `{"api":"Produce","topic":"orders","partition":0,"error":6,"times":1}`, 201,
			`{"id":1,"count":0,"api":"Produce","topic":"orders","partition":0,"error":"6","times":1}`},
		{"POST", "/faults", `{"client_id":"app","drop":true,"after":true,"delay_ms":5}`, 201, `{"id":2,"count":0,"client_id":"app","delay_ms":5,"drop":true,"after":true}`},
		{"DELETE", "/faults/2", "", 204, ""},
		{"DELETE", "/faults/2", "", 404, `{"error":"there is no fault 2: GET /faults lists them"}`},
		{"POST", "/faults", `{"api":"Produce"}`, 400, `{"error":"invalid fault: it does nothing: give error, delay or drop"}`},
		{"POST", "/faults", `{"api":"Porduce","drop":true}`, 400, `there is no API \"Porduce\"`},
		{"POST", "/faults", `{"error":"NO_LEADER"}`, 400, `is no error of Kafka's`},
		{"POST", "/faults", `{"error":["x"]}`, 400, `want the name of an error`},
		{"POST", "/faults", `{"drop":true,"delay_ms":9223372036854775807}`, 400, `want up to 1h0m0s`},
		{"POST", "/faults", `{"dorp":true}`, 400, `unknown field \"dorp\"`},
		{"POST", "/faults", `{"id":7,"drop":true}`, 400, `are told, not given`},
		{"POST", "/faults", `drop`, 400, `the body is no rule, such as`},
		{"POST", "/faults", `{"topic":"` + strings.Repeat("x", maxRuleBytes) + `"}`, 400, "too large"},
		{"PUT", "/faults", "{}", 405, "Method Not Allowed"},
		{"POST", "/retention", "", 204, ""},
		{"POST", "/compact/orders", "", 409, "there is no such topic"},
	} {
		if status, body := ask(step.method, step.path, step.body); status != step.status || !strings.Contains(body, step.says) {
			t.Errorf("%s %s %.80s: %d %s, want %d %s", step.method, step.path, step.body, status, body, step.status, step.says)
		}
	}
	load(t, o.addr) // with retries
	if _, body := ask("GET", "/faults", ""); !strings.Contains(body, `[{"id":1,"count":1,`) {
		t.Errorf("after the load: %s", body)
	}
	if status, _ := ask("POST", "/compact/keyed", ""); status != 204 {
		t.Errorf("compact: %d", status)
	}
	if status, _ := ask("DELETE", "/faults", ""); status != 204 {
		t.Errorf("delete: %d", status)
	}
	if _, body := ask("GET", "/faults", ""); body != "[]" {
		t.Errorf("after the end: %s", body)
	}
}

// raw sends bytes and reads all that is answered.
func raw(t *testing.T, addr, request string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%.60q: %v", request, err)
	}
	return string(answer)
}

// TestRequestsByHand: what clients send that do not use Go's library, also wrongly.
func TestRequestsByHand(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello") })
	mux.HandleFunc("POST /echo", func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	mux.HandleFunc("GET /nothing", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /panic", func(http.ResponseWriter, *http.Request) { panic("oh") })
	addr := listen(t, mux)
	for request, want := range map[string]string{
		"GET /hello HTTP/1.1\r\nHost: x\r\n\r\n":                                                           "\r\n\r\nhello",
		"GET /hello HTTP/1.0\r\n\r\n":                                                                      "\r\n\r\nhello",
		"HEAD /hello HTTP/1.1\r\nHost: x\r\n\r\n":                                                          "\r\n\r\n",
		"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n":                                                         "HTTP/1.1 200 OK",
		"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc":                                   "\r\n\r\nabc",
		"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n":        "\r\n\r\nabc",
		"POST /echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc":           "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK",
		"GET /hello HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", maxRequestBytes-100) + "\r\n\r\n":    "hello",
		"GET /hello HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", maxRequestBytes+100) + "\r\n\r\n":    "HTTP/1.1 400 Bad Request",
		"\x00\x00\x00\x10hello broker\r\n\r\n":                                                             "HTTP/1.1 400 Bad Request",
		"GET /other HTTP/1.1\r\nHost: x\r\n\r\n":                                                           "HTTP/1.1 404 Not Found",
		"POST /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100_000): "HTTP/1.1 405 Method Not Allowed",
		"GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\nHost: x\r\n\r\n":                     "Connection: close",
	} {
		got := raw(t, addr, request)
		if !strings.Contains(got, want) || strings.HasPrefix(request, "HEAD") && strings.Contains(got, "hello") {
			t.Errorf("%.60q: %q, want %q", request, got, want)
		}
	}
	if got := raw(t, addr, "GET /panic HTTP/1.1\r\nHost: x\r\n\r\n"); got != "" {
		t.Errorf("a panic is answered with %q", got)
	}
	conn, err := net.Dial("tcp", addr) // and says nothing until the end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
}

// TestSilentClients: a connection on which nothing is said does not hold up Close.
func TestSilentClients(t *testing.T) {
	s, err := Listen("127.0.0.1:0", http.NotFoundHandler(), nil)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	raw(t, s.Addr().String(), "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // was accepted after the silent one
	begin := time.Now()
	if err := s.Close(context.Background()); err != nil || time.Since(begin) >= requestTimeout {
		t.Errorf("closed after %v: %v", time.Since(begin), err)
	}
}

// TestCloseCutsOff: a request that does not end is cut off when the patience of Close is over, and told to stop before.
func TestCloseCutsOff(t *testing.T) {
	stopped := make(chan struct{})
	begun := make(chan struct{})
	s, err := Listen("127.0.0.1:0", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(stopped)
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	silent, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	asking, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer asking.Close()
	if _, err := io.WriteString(asking, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Close(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("closed with %v", err)
	}
	<-stopped
}
