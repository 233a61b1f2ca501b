package observe

import (
	"fmt"
	"net/http"
	"runtime"
	"runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"
)

// The profiles are served as net/http/pprof serves them, so that go tool pprof finds them. That package puts itself into the
// process' default handler and costs the program 0.5 MB for what nobody asks a broker: differences of profiles, and symbols.

const (
	defaultSeconds = 30
	mostSeconds    = 600
)

// listProfiles names the profiles.
func listProfiles(w http.ResponseWriter, _ *http.Request) {
	for _, p := range pprof.Profiles() {
		fmt.Fprintf(w, "/debug/pprof/%s\t%d\n", p.Name(), p.Count())
	}
	fmt.Fprint(w, "/debug/pprof/profile?seconds=30\n/debug/pprof/trace?seconds=1\n")
}

// namedProfile gives one of the runtime's profiles; with debug=1 or 2 as text, with gc=1 after a collection.
func namedProfile(w http.ResponseWriter, r *http.Request) {
	p := pprof.Lookup(r.PathValue("name"))
	if p == nil {
		http.Error(w, "there is no profile of that name: /debug/pprof/ lists them", http.StatusNotFound)
		return
	}
	debug, gc := number(r, "debug", 0), number(r, "gc", 0)
	if gc > 0 && p.Name() == "heap" {
		runtime.GC()
	}
	setType(w, debug > 0)
	// What fails here is the connection.
	_ = p.WriteTo(w, debug)
}

// cpuProfile measures for some seconds where the processor's time goes.
func cpuProfile(w http.ResponseWriter, r *http.Request) {
	setType(w, false)
	if err := pprof.StartCPUProfile(w); err != nil {
		setType(w, true)
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer pprof.StopCPUProfile()
	measure(r, defaultSeconds)
}

// executionTrace records for some seconds what goroutines do.
func executionTrace(w http.ResponseWriter, r *http.Request) {
	setType(w, false)
	if err := trace.Start(w); err != nil {
		setType(w, true)
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	defer trace.Stop()
	measure(r, 1)
}

// measure waits for the seconds that the request asks for, or until the client goes away.
func measure(r *http.Request, fallback int) {
	timer := time.NewTimer(time.Duration(min(max(number(r, "seconds", fallback), 1), mostSeconds)) * time.Second)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.Context().Done():
	}
}

// number is a number of the query.
func number(r *http.Request, name string, fallback int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
		return n
	}
	return fallback
}

func setType(w http.ResponseWriter, text bool) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if text {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
}
