package group

// topicSet is Topics for tests.
type topicSet struct {
	version int64
	byName  map[string]Topic
}

func newTopicSet(version int64, all ...Topic) topicSet {
	s := topicSet{version, map[string]Topic{}}
	for _, t := range all {
		s.byName[t.Name] = t
	}
	return s
}

func (s topicSet) Version() int64 { return s.version }

func (s topicSet) ByName(name string) (Topic, bool) {
	t, ok := s.byName[name]
	return t, ok
}

func (s topicSet) ByID(id [16]byte) (Topic, bool) {
	for _, t := range s.byName {
		if t.ID == id {
			return t, true
		}
	}
	return Topic{}, false
}

func (s topicSet) Each(f func(name string)) {
	for name := range s.byName {
		f(name)
	}
}
