package handlers

// fewKeys is up to how many keys a linear search beats a map.
const fewKeys = 16

// firstSeen numbers keys in the order in which they first come. Requests may
// name a topic or a partition twice, and a hostile one may do so a million
// times, so the search must not be quadratic; usual ones name a handful, so it
// must not make a map either. The zero value is empty.
type firstSeen[K comparable] struct {
	keys  []K
	index map[K]int32 // built when there are more than fewKeys
	room  int         // how many keys are expected, 0 when that is not known
}

// add returns the number of k and whether it was there before.
func (f *firstSeen[K]) add(k K) (number int32, seen bool) {
	if n := len(f.keys); n > 0 && f.keys[n-1] == k {
		return int32(n - 1), true
	}
	if len(f.keys) <= fewKeys {
		for i := range f.keys {
			if f.keys[i] == k {
				return int32(i), true
			}
		}
	} else if i, ok := f.index[k]; ok {
		return i, true
	}
	number = int32(len(f.keys))
	f.keys = append(f.keys, k)
	switch {
	case len(f.keys) == fewKeys+1:
		if f.index == nil {
			f.index = make(map[K]int32, max(2*fewKeys, f.room))
		}
		for i := range f.keys {
			f.index[f.keys[i]] = int32(i)
		}
	case len(f.keys) > fewKeys:
		f.index[k] = number
	}
	return number, false
}

// reset empties f and keeps its memory.
func (f *firstSeen[K]) reset() {
	clear(f.keys)
	f.keys = f.keys[:0]
	clear(f.index)
}

// topicKey names a topic as a request does: by name or, in newer versions, by id.
type topicKey struct {
	name string
	id   [16]byte
}

// partitionKey names a partition by the number of its topic in the request.
type partitionKey struct {
	topic     int32
	partition int32
}
