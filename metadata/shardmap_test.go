package metadata

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShardMapIsAMapThatNeverChanges plays random edits against plain maps and
// looks at all earlier versions again.
func TestShardMapIsAMapThatNeverChanges(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	var versions []shardMap[string, int]
	var plain []map[string]int
	now, model := shardMap[string, int]{}, map[string]int{}
	for range 200 {
		e := editOf(now)
		for range rnd.IntN(60) {
			key := fmt.Sprint(rnd.IntN(3000))
			if rnd.IntN(4) == 0 {
				e.remove(key)
				delete(model, key)
			} else {
				v := rnd.Int()
				e.set(key, v)
				model[key] = v
			}
		}
		now = e.done()
		versions, plain = append(versions, now), append(plain, maps.Clone(model))
	}
	for i, v := range versions {
		if got := maps.Collect(v.all()); !maps.Equal(got, plain[i]) || v.len() != len(got) {
			t.Fatalf("version %d: %d entries, %d wanted", i, len(got), len(plain[i]))
		}
		if i == 0 {
			continue
		}
		differing := slices.Collect(v.differing(versions[i-1]))
		for key := range maps.Keys(plain[i]) {
			old, had := plain[i-1][key]
			if (!had || old != plain[i][key]) && !slices.Contains(differing, key) {
				t.Fatalf("version %d: %s changed and is not named", i, key)
			}
		}
		for key := range plain[i-1] {
			if _, has := plain[i][key]; !has && !slices.Contains(differing, key) {
				t.Fatalf("version %d: %s went and is not named", i, key)
			}
		}
	}
}
