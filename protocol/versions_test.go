package protocol

import (
	"slices"
	"testing"
)

func TestOnlyWhatIsServedIsListed(t *testing.T) {
	v, err := NewVersions(18, 0, 71)
	if err != nil {
		t.Fatal(err)
	}
	resp := v.Response(4, map[string]int16{"metadata.version": 33, "group.version": 1, "kraft.version": 0}, 9)
	if len(resp.ApiKeys) != 2 || resp.ApiKeys[0].ApiKey != 0 || resp.ApiKeys[0].MinVersion != 0 || resp.ApiKeys[1].ApiKey != 18 {
		t.Errorf("listed: %+v", resp.ApiKeys)
	}
	if v.Served(0, 2) || !v.Served(0, 3) || !v.Served(71, 0) || v.Served(3, 1) || v.Served(-1, 0) || v.Served(18, 6) {
		t.Error("served versions are wrong")
	}
	if len(resp.FinalizedFeatures) != 2 || resp.FinalizedFeatures[0].Name != "group.version" || resp.FinalizedFeaturesEpoch != 9 {
		t.Errorf("finalized: %+v", resp.FinalizedFeatures)
	}
	if len(resp.SupportedFeatures) != len(SupportedFeatures()) {
		t.Errorf("supported in version 4: %+v", resp.SupportedFeatures)
	}
	if three := v.Response(3, nil, -1); len(three.SupportedFeatures) != 1 || three.SupportedFeatures[0].Name != "metadata.version" {
		t.Errorf("supported in version 3: %+v", three.SupportedFeatures)
	}
	if got := len(v.APIs()); got != 3 {
		t.Errorf("%d APIs", got)
	}
}

func TestWithin(t *testing.T) {
	v := everything(t)
	narrow, err := v.Within(1, 4, 16)
	if err != nil {
		t.Fatal(err)
	}
	if narrow.Served(1, 17) || !narrow.Served(1, 16) || !v.Served(1, 18) {
		t.Error("Within must change the copy and nothing else")
	}
	for _, bad := range [][3]int16{{1, 3, 16}, {1, 4, 19}, {1, 9, 8}, {99, 0, 0}} {
		if _, err := v.Within(bad[0], bad[1], bad[2]); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
	produce, err := v.Within(0, 0, 9)
	if err != nil || produce.Served(0, 2) {
		t.Errorf("narrowed Produce: %v, v2 served: %v", err, produce.Served(0, 2))
	}
}

func TestUnknownKeysAreRefused(t *testing.T) {
	for _, key := range []int16{-1, 4, 52, 1000} {
		if _, err := NewVersions(key); err == nil {
			t.Errorf("key %d was accepted", key)
		}
	}
}

func TestShapeMistakesAreErrors(t *testing.T) {
	for _, text := range []string{"x", "[i", "{i", "?i", "i@", "i#", "i}", "[", "*", "[Y]", "i@1-"} {
		if _, err := newShape(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
	if !slices.IsSortedFunc(featureTable[:], func(a, b Feature) int { return compare(a.Name, b.Name) }) {
		t.Error("features are not sorted")
	}
}

func compare(a, b string) int {
	if a < b {
		return -1
	}
	return 1
}

func TestBuffers(t *testing.T) {
	var p Buffers
	for _, n := range []int{0, 1, 4 << 10, 4<<10 + 1, 1 << 20, 4 << 20, 5 << 20} {
		b := p.Get(n)
		if len(b.B) != 0 || cap(b.B) < n {
			t.Errorf("Get(%d): length %d, capacity %d", n, len(b.B), cap(b.B))
		}
		b.B = append(b.B, 1)
		p.Put(b)
		if again := p.Get(n); len(again.B) != 0 {
			t.Errorf("a pooled buffer comes with %d bytes", len(again.B))
		}
	}
	p.Put(nil)
	p.Put(&Buffer{B: make([]byte, 10)})
}
