package handlers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// DescribeClientQuotas, versions 0 and 1.
//
// Shows the limits that the metadata log holds for the entities that match
// every component of the filter; a strict filter takes no entity with parts
// beside those. The order of entities, their parts and their limits is Kafka's,
// which clients' tests hold on to.

// The parts that an entity of quotas can have.
const (
	quotaUser     = "user"
	quotaClientID = "client-id"
	quotaIP       = "ip"
)

func (a *API) describeClientQuotas(_ context.Context, _ *protocol.Request, body *kmsg.DescribeClientQuotasRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrDescribeClientQuotasResponse()
	answer.Version = body.Version
	if err := checkQuotaFilter(body.Components); err != nil {
		answer.ErrorCode, answer.ErrorMessage = errorCode(err), errorMessage(err)
		return answer, nil
	}
	answer.ErrorMessage = new(string)
	answer.Entries = []kmsg.DescribeClientQuotasResponseEntry{} // null is for errors
	for _, q := range filteredQuotas(a.meta.Image().Quotas(), body) {
		answer.Entries = append(answer.Entries, describedQuota(q))
	}
	return answer, nil
}

// filteredQuotas gives the quotas that pass a filter, in Kafka's order: those that pass the filter's first component lie in
// a hash map of their own, and in a copy of it on the way out. The copy's size is that of Java 17; later ones make it half
// as large for 3, 6, 12 and so on.
func filteredQuotas(quotas []*metadata.Quota, filter *kmsg.DescribeClientQuotasRequest) []*metadata.Quota {
	if len(filter.Components) > 0 {
		first := slices.MinFunc(filter.Components, compareQuotaComponents)
		only := &kmsg.DescribeClientQuotasRequest{Components: []kmsg.DescribeClientQuotasRequestComponent{first}}
		found := matchingQuotas(quotas, only)
		found = metadata.DefaultHashTable.Holding(len(found)).Arrange(found)
		quotas = metadata.NewHashTable(int(float32(len(found))/0.75 + 1)).Arrange(found)
	}
	return matchingQuotas(quotas, filter)
}

// compareQuotaComponents orders the components of a filter as Kafka looks them up: those that take one name first.
func compareQuotaComponents(a, b kmsg.DescribeClientQuotasRequestComponent) int {
	rank := func(c *kmsg.DescribeClientQuotasRequestComponent) int {
		if c.MatchType == kmsg.QuotasMatchTypeAny {
			return 1
		}
		return 0
	}
	return cmp.Or(rank(&a)-rank(&b), strings.Compare(a.EntityType, b.EntityType))
}

func matchingQuotas(quotas []*metadata.Quota, filter *kmsg.DescribeClientQuotasRequest) []*metadata.Quota {
	var matching []*metadata.Quota
	for _, q := range quotas {
		if quotaMatches(q.Entity, filter) {
			matching = append(matching, q)
		}
	}
	return matching
}

// checkQuotaFilter refuses filters that nothing can match.
func checkQuotaFilter(components []kmsg.DescribeClientQuotasRequestComponent) error {
	seen := make(map[string]bool)
	for i := range components {
		c := &components[i]
		switch {
		case c.EntityType == "":
			return &apiError{codeInvalidRequest, "Invalid empty entity type."}
		case seen[c.EntityType]:
			return &apiError{codeInvalidRequest, "Entity type " + c.EntityType + " cannot appear more than once in the filter."}
		case c.EntityType != quotaUser && c.EntityType != quotaClientID && c.EntityType != quotaIP:
			return &apiError{codeUnsupportedVersion, "Unsupported entity type " + c.EntityType}
		}
		if err := checkQuotaMatch(c); err != nil {
			return err
		}
		seen[c.EntityType] = true
	}
	if seen[quotaIP] && len(seen) > 1 {
		return &apiError{codeInvalidRequest, "Invalid entity filter component combination. " +
			"IP filter component should not be used with user or clientId filter component."}
	}
	return nil
}

func checkQuotaMatch(c *kmsg.DescribeClientQuotasRequestComponent) error {
	switch {
	case c.MatchType == kmsg.QuotasMatchTypeExact && c.Match == nil:
		return &apiError{codeInvalidRequest, "Request specified MATCH_TYPE_EXACT, but set match string to null."}
	case c.MatchType == kmsg.QuotasMatchTypeDefault && c.Match != nil:
		return &apiError{codeInvalidRequest, "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."}
	case c.MatchType == kmsg.QuotasMatchTypeAny && c.Match != nil:
		return &apiError{codeInvalidRequest, "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."}
	case c.MatchType < kmsg.QuotasMatchTypeExact || c.MatchType > kmsg.QuotasMatchTypeAny:
		return &apiError{codeInvalidRequest, fmt.Sprintf("Unknown match type %d", c.MatchType)}
	}
	return nil
}

// quotaMatches says whether an entity passes a filter.
func quotaMatches(entity []metadata.QuotaEntity, filter *kmsg.DescribeClientQuotasRequest) bool {
	if filter.Strict && len(entity) != len(filter.Components) {
		return false
	}
	for i := range filter.Components {
		c := &filter.Components[i]
		at := slices.IndexFunc(entity, func(e metadata.QuotaEntity) bool { return e.Type == c.EntityType })
		if at < 0 {
			return false
		}
		name := entity[at].Name
		if c.MatchType != kmsg.QuotasMatchTypeAny && !equalStrings(name, c.Match) {
			return false
		}
	}
	return true
}

// equalStrings compares strings that may be null.
func equalStrings(a, b *string) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func describedQuota(q *metadata.Quota) kmsg.DescribeClientQuotasResponseEntry {
	entry := kmsg.NewDescribeClientQuotasResponseEntry()
	for i := range q.Entity {
		e := kmsg.NewDescribeClientQuotasResponseEntryEntity()
		e.Type, e.Name = q.Entity[i].Type, q.Entity[i].Name
		entry.Entity = append(entry.Entity, e)
	}
	slices.SortFunc(entry.Entity, func(a, b kmsg.DescribeClientQuotasResponseEntryEntity) int { return strings.Compare(a.Type, b.Type) })
	for _, name := range limitOrder(q.Limits) {
		v := kmsg.NewDescribeClientQuotasResponseEntryValue()
		v.Key, v.Value = name, q.Limits[name]
		entry.Values = append(entry.Values, v)
	}
	return entry
}

// limitOrder gives the names of limits as Kafka 4.4.0 shows them: as they lie in its hash map, which is laid out anew for the fourth.
// Where producer_byte_rate was set before request_percentage, not with it, Kafka shows it first until it starts again.
func limitOrder(limits map[string]float64) []string {
	order := []string{"consumer_byte_rate", "controller_mutation_rate", "request_percentage", "producer_byte_rate"}
	if len(limits) > 3 {
		order = []string{"producer_byte_rate", "consumer_byte_rate", "controller_mutation_rate", "request_percentage"}
	}
	return slices.SortedFunc(maps.Keys(limits), func(a, b string) int {
		return cmp.Or(slices.Index(order, a)-slices.Index(order, b), strings.Compare(a, b))
	})
}
