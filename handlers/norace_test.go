//go:build !race

package handlers

// allocationNoise is what another goroutine of the test binary may allocate meanwhile, on average of a run. An allocation for
// each record would be hundreds more.
const allocationNoise = 2
