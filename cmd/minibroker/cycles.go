package main

import "runtime"

// cycleMark is garbage of which the collector tells with every cycle.
type cycleMark struct{ collected func() bool }

// eachCycle calls collected after each cycle of the collector, until it returns false. Between cycles nothing runs.
func eachCycle(collected func() bool) {
	runtime.SetFinalizer(&cycleMark{collected}, (*cycleMark).again)
}

func (m *cycleMark) again() {
	if m.collected() {
		runtime.SetFinalizer(m, (*cycleMark).again)
	}
}
