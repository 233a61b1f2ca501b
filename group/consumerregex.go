package group

import (
	"errors"
	"log/slog"
	"regexp"
	"regexp/syntax"
	"slices"
)

// regexRestMs is how long regular expressions are left alone after they have
// been resolved.
const regexRestMs = 10_000

func (r *regexChange) matches(topic string) bool {
	_, found := slices.BinarySearch(r.topics, topic)
	return found
}

// compileRegex compiles an expression that must match whole names. Kafka uses
// RE2 as well.
func compileRegex(expr string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(expr); err != nil {
		var wrong *syntax.Error
		text := err.Error()
		if errors.As(err, &wrong) {
			text = string(wrong.Code)
		}
		return nil, &Refusal{ErrInvalidRegex, "SubscribedTopicRegex `" + expr + "` is not a valid regular expression: " + text + "."}
	}
	return regexp.Compile(`\A(?:` + expr + `)\z`)
}

// noteRegexLocked plans what follows from a change of the member's expression
// and whether the expressions of the group are to be resolved. It says whether
// the member's has changed, and whether that can have effect at once: what it
// matches is known, or it has none any more.
func (p *consumerPlan) noteRegexLocked(old, m *consumerMember, set *Settings) (changed, resolved bool, err error) {
	c := p.c
	fresh := false
	if changed = old.regex != m.regex; changed {
		if old.regex != "" && c.regexCountLocked(old.regex) == 1 {
			p.add(regexGone{old.regex})
		}
		switch {
		case m.regex == "":
			resolved = true
		case c.regexCountLocked(m.regex) == 0:
			if _, err := compileRegex(m.regex); err != nil {
				return false, false, err
			}
			fresh = true
		default:
			resolved = c.regexes[m.regex] != nil
		}
	}
	p.resolve = c.mustResolveLocked(old, m, fresh, set)
	return changed, resolved, nil
}

func (c *consumer) regexCountLocked(regex string) int {
	n := 0
	for _, m := range c.members {
		if m.regex == regex {
			n++
		}
	}
	return n
}

// mustResolveLocked says whether the expressions are to be resolved now, all
// together: so that there is one new target and not one for each.
func (c *consumer) mustResolveLocked(old, m *consumerMember, fresh bool, set *Settings) bool {
	if c.resolving || (m.regex == "" && !fresh && len(c.regexes) == 0) {
		return false
	}
	used := map[string]int{}
	for _, other := range c.members {
		if other.regex != "" {
			used[other.regex]++
		}
	}
	if len(used) == 0 && !fresh {
		return false
	}
	var at, version int64
	for _, regex := range sortedNames(c.regexes) {
		at, version = c.regexes[regex].atMs, c.regexes[regex].version
		break
	}
	now := nowMs()
	if len(c.regexes) > 0 && now <= at+regexRestMs {
		return false
	}
	if old.regex != "" {
		if used[old.regex]--; used[old.regex] <= 0 {
			delete(used, old.regex)
		}
	}
	if m.regex != "" {
		used[m.regex]++
	}
	if len(used) == 0 {
		return false
	}
	return fresh || len(used) != len(c.regexes) || version < c.g.s.c.topicsVersion.Load() || now > at+int64(set.RegexRefreshMs)
}

// resolveLocked finds what the group's expressions match, and raises the epoch
// when that has changed.
func (c *consumer) resolveLocked() {
	c.resolving = false
	topics := c.g.s.c.topics()
	plan := &consumerPlan{c: c}
	bump, now := false, nowMs()
	found := c.subscriptionsLocked(nil)
	for _, regex := range sortedNames(found.regexes) {
		change := regexChange{regex: regex, topics: matching(regex, topics), version: topics.Version(), atMs: now}
		var before []string
		if r := c.regexes[regex]; r != nil {
			before = r.topics
		}
		if !slices.Equal(before, change.topics) {
			bump = true
			found.match(before, -1)
			found.match(change.topics, 1)
		}
		plan.add(change)
	}
	if len(plan.changes) == 0 {
		return
	}
	hash := metadataHash(found.topics(), topics)
	plan.compared, plan.checked = true, topics.Version()
	if bump || hash != c.hash {
		plan.epochLocked(hash)
	}
	if err := plan.commitLocked(); err != nil {
		c.g.s.logf(slog.LevelError, "[GroupId %s] Couldn't update regular expression due to: %v", c.g.id, err)
	}
}

// matching lists the topics that an expression matches, sorted.
func matching(regex string, topics Topics) []string {
	var names []string
	pattern, err := compileRegex(regex)
	if err != nil {
		return nil // written by somebody else: it matches nothing
	}
	topics.Each(func(name string) {
		if pattern.MatchString(name) {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names
}
