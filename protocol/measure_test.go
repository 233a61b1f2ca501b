package protocol

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// eachVersion calls fn for all versions that Kafka serves of all APIs.
func eachVersion(t *testing.T, fn func(t *testing.T, s *served, version int16)) {
	t.Helper()
	all := everything(t)
	for _, s := range all.byKey {
		if s == nil {
			continue
		}
		for version := s.MinServed; version <= s.Max; version++ {
			t.Run(fmt.Sprintf("%s/v%d", s.Name, version), func(t *testing.T) { fn(t, s, version) })
		}
	}
}

func everything(t testing.TB) *Versions {
	t.Helper()
	var keys []int16
	for _, row := range apiTable {
		keys = append(keys, row.Key)
	}
	all, err := NewVersions(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestShapesMatchEncoding walks over requests that kmsg has written: each shape
// must end exactly where the encoding ends, in every version.
func TestShapesMatchEncoding(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	eachVersion(t, func(t *testing.T, s *served, version int16) {
		for round := range 20 {
			body := filled(rnd, s.Key, version, 1+round%4).AppendTo(nil)
			m := meter{Reader: kbin.Reader{Src: body}, version: version, flexible: version >= s.flexible}
			m.fields(s.shape)
			if m.err != nil || !m.Ok() {
				t.Fatalf("body %x: error %v, reader ok %v", body, m.err, m.Ok())
			}
			if len(m.Src) > 0 {
				t.Fatalf("body %x: the last %d bytes are not covered by the shape", body, len(m.Src))
			}
		}
	})
}

// TestMeasureAgreesWithDecoding cuts requests everywhere and flips bytes: what
// measure accepts kmsg must decode, at no more than the cost measured, and what
// kmsg decodes measure may refuse only for a null or for its cost.
func TestMeasureAgreesWithDecoding(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	eachVersion(t, func(t *testing.T, s *served, version int16) {
		body := filled(rnd, s.Key, version, 3).AppendTo(nil)
		for cut := range len(body) {
			agree(t, s, version, body[:cut])
		}
		for range 200 {
			mutated := append([]byte(nil), body...)
			if len(mutated) > 0 {
				mutated[rnd.IntN(len(mutated))] = byte(rnd.Uint32())
			}
			agree(t, s, version, mutated)
		}
	})
}

func agree(t *testing.T, s *served, version int16, body []byte) {
	t.Helper()
	_, err := measure(body, s.shape, version, version >= s.flexible)
	if errors.Is(err, ErrTooManyElements) {
		return
	}
	req := kmsg.RequestForKey(s.Key)
	req.SetVersion(version)
	decodeErr := req.ReadFrom(body)
	if err == nil && decodeErr != nil {
		t.Fatalf("body %x: measured, but decoding says %v", body, decodeErr)
	}
	if decodeErr == nil && err != nil && !errors.Is(err, ErrNull) {
		t.Fatalf("body %x: decodes, but measuring says %v", body, err)
	}
}

// TestHostileFramesCostLittle sends, for every API and every array in it, frames
// packed with the shortest elements, without and with an unknown tag in each.
func TestHostileFramesCostLittle(t *testing.T) {
	const size = 64 << 10 / raceFactor
	all := everything(t)
	var worst float64
	for _, s := range all.byKey {
		if s == nil {
			continue
		}
		for _, version := range interestingVersions(s) {
			flexible := version >= s.flexible
			tagSets := [][]byte{{0}}
			if flexible {
				tagSets = append(tagSets, []byte{3, 9, 0, 10, 0, 11, 0})
			}
			for _, tags := range tagSets {
				l := least{version: version, flexible: flexible, tags: tags}
				for i, body := range l.bombs(s.shape, size) {
					frame := append(headerOf(s.Key, version, flexible), body...)
					worst = max(worst, costOf(t, all, s, fmt.Sprintf("%s v%d bomb %d tags %x", s.Name, version, i, tags), frame))
				}
			}
		}
	}
	t.Logf("worst allocation of a frame of %d bytes: %.1f times its size", size, worst)
}

func interestingVersions(s *served) []int16 {
	if s.Max == s.MinServed {
		return []int16{s.Max}
	}
	return []int16{s.MinServed, s.Max}
}

// costOf measures what parsing a frame allocates, against the promise of Parse
// and against the estimate, and returns it as a multiple of the frame.
func costOf(t *testing.T, versions *Versions, s *served, name string, frame []byte) float64 {
	t.Helper()
	header := len(headerOf(s.Key, 0, frame[3] >= byte(min(s.flexible, 255))))
	estimate, _ := measure(frame[header:], s.shape, int16(frame[3]), int16(frame[3]) >= s.flexible)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ParseRequest(frame, versions)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	// Size classes round up by an eighth at most, pages by less.
	const slack = 16 << 10
	if limit := raceFactor*uint64(estimate)*9/8 + slack; err == nil && allocated > limit {
		t.Errorf("%s: allocated %d bytes, more than the estimate of %d allows", name, allocated, estimate)
	}
	if err != nil && allocated > slack {
		t.Errorf("%s: refused (%v), but allocated %d bytes", name, err, allocated)
	}
	if allocated > raceFactor*MaxDecodedBytes*9/8+slack {
		t.Errorf("%s: allocated %d bytes", name, allocated)
	}
	return float64(allocated) / float64(len(frame))
}

// TestTagBombs sends frames whose decoding would take gigabytes: each element
// carries tags that nobody knows.
func TestTagBombs(t *testing.T) {
	all := everything(t)
	for _, key := range []int16{1, 3, 8} {
		s := all.find(key)
		l := least{version: s.Max, flexible: true, tags: []byte{3, 9, 0, 10, 0, 11, 0}}
		for i, body := range l.bombs(s.shape, 10<<20) {
			frame := append(headerOf(key, s.Max, true), body...)
			costOf(t, all, s, fmt.Sprintf("%s bomb %d", s.Name, i), frame)
		}
	}
}

// TestZeroFrames sends 10 MiB of zeros behind an array length of half as many,
// which kmsg by itself turns into 320 MiB.
func TestZeroFrames(t *testing.T) {
	all := everything(t)
	for _, key := range []int16{0, 1, 3, 8} {
		s := all.find(key)
		for version := s.MinServed; version < s.flexible; version++ {
			l := least{version: version}
			array := 0
			for s.shape.fields[array].kind != '[' || !s.shape.fields[array].in(version) {
				array++
			}
			body := l.fields(nil, s.shape.fields[:array])
			body = l.length(body, 5<<20)
			body = append(body, make([]byte, 10<<20)...)
			costOf(t, all, s, fmt.Sprintf("%s v%d", s.Name, version), append(headerOf(key, version, false), body...))
		}
	}
}

// TestLongStrings: Kafka reads no string of more than 32767 bytes, even where the form has room for it.
func TestLongStrings(t *testing.T) {
	versions := everything(t)
	for size, want := range map[int]error{maxString: nil, maxString + 1: ErrLongString} {
		body := kmsg.NewPtrFindCoordinatorRequest()
		body.Version, body.CoordinatorKeys = 4, []string{string(make([]byte, size))}
		frame := kmsg.NewRequestFormatter().AppendRequest(nil, body, 1)
		if _, err := ParseRequest(frame[4:], versions); !errors.Is(err, want) {
			t.Errorf("a string of %d bytes: %v, want %v", size, err, want)
		}
	}
}
