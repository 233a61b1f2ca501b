//go:build race

package handlers

// allocationNoise: the race detector lets pools lose what is given back, at random; one for each record would still be a thousand.
const allocationNoise = 50
