package handlers

import (
	"fmt"
	"testing"
)

func TestFirstSeenNumbersKeysInOrder(t *testing.T) {
	for _, n := range []int{0, 1, fewKeys - 1, fewKeys, fewKeys + 1, 5 * fewKeys} {
		var f firstSeen[string]
		for round := range 2 {
			for i := range n {
				number, seen := f.add(fmt.Sprint("key", i))
				if int(number) != i || seen {
					t.Fatalf("%d keys, round %d: key %d is number %d, seen %v", n, round, i, number, seen)
				}
			}
			for i := n - 1; i >= 0; i-- {
				number, seen := f.add(fmt.Sprint("key", i))
				if int(number) != i || !seen {
					t.Fatalf("%d keys, round %d: key %d again is number %d, seen %v", n, round, i, number, seen)
				}
			}
			f.reset()
		}
	}
}
