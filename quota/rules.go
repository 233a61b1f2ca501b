package quota

// Kind is what a limit is about.
type Kind int8

// The kinds of limits, in Kafka's words.
const (
	Produce   Kind = iota // producer_byte_rate, bytes a second
	Fetch                 // consumer_byte_rate, bytes a second
	Request               // request_percentage, percent of one thread
	Mutations             // controller_mutation_rate, partitions created and deleted a second
	kinds
)

// Who is the user or the client id that a rule is for. The zero value is a rule
// that does not look at it.
type Who struct {
	name string
	kind whoKind
}

type whoKind int8

const (
	anyone whoKind = iota
	byDefault
	named
)

// Named is one user or client id.
func Named(name string) Who { return Who{name, named} }

// Default is all that have no rule of their own.
func Default() Who { return Who{"", byDefault} }

// Rule limits what a user, a client id, or a user's client id may use of a kind.
type Rule struct {
	User, Client Who
	Kind         Kind
	Limit        float64
}

// subject is who is measured together. Empty strings stand for all users or all
// client ids.
type subject struct{ user, client string }

// pair is what rules are found by.
type pair struct{ user, client Who }

// The shapes of rules that are in force; they decide who is measured together.
const (
	byClient = 1 << iota
	byUser
	byBoth
)

// ruleset is the rules of one kind.
type ruleset struct {
	shapes int
	limits map[pair]float64
}

func (r *ruleset) add(rule Rule) {
	if r.limits == nil {
		r.limits = make(map[pair]float64)
	}
	r.limits[pair{rule.User, rule.Client}] = rule.Limit
	switch {
	case rule.User != Who{} && rule.Client != Who{}:
		r.shapes |= byBoth
	case rule.User != Who{}:
		r.shapes |= byUser
	case rule.Client != Who{}:
		r.shapes |= byClient
	}
}

// subjectOf says with whom a client is measured. With rules of one shape alone
// that is clear; else the first rule that is there decides, the most precise
// first.
func (r *ruleset) subjectOf(user, client string) subject {
	switch r.shapes {
	case byClient:
		return subject{"", client}
	case byUser:
		return subject{user, ""}
	case byBoth:
		return subject{user, client}
	}
	u, c := Named(user), Named(client)
	for _, rule := range [...]struct {
		pair pair
		who  subject
	}{
		{pair{u, c}, subject{user, client}},
		{pair{u, Default()}, subject{user, client}},
		{pair{u, Who{}}, subject{user, ""}},
		{pair{Default(), c}, subject{user, client}},
		{pair{Default(), Default()}, subject{user, client}},
		{pair{Default(), Who{}}, subject{user, ""}},
	} {
		if _, there := r.limits[rule.pair]; there {
			return rule.who
		}
	}
	return subject{"", client}
}

// limitOf finds the limit of those who are measured together; false when there
// is none.
func (r *ruleset) limitOf(s subject) (float64, bool) {
	u, c := Named(s.user), Named(s.client)
	var in []pair
	switch {
	case s.user != "" && s.client != "":
		in = []pair{{u, c}, {u, Default()}, {Default(), c}, {Default(), Default()}}
	case s.user != "":
		in = []pair{{u, Who{}}, {Default(), Who{}}}
	case s.client != "":
		in = []pair{{Who{}, c}, {Who{}, Default()}}
	}
	for _, p := range in {
		if limit, ok := r.limits[p]; ok {
			return limit, true
		}
	}
	return 0, false
}
