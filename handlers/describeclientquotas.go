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
// beside those. The order is that of the entities' names, and for the limits
// of one entity Kafka's, which clients' tests hold on to.

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
	quotas := maps.Collect(a.meta.Image().Quotas())
	for _, key := range slices.Sorted(maps.Keys(quotas)) {
		if q := quotas[key]; quotaMatches(q.Entity, body) {
			answer.Entries = append(answer.Entries, describedQuota(q))
		}
	}
	return answer, nil
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
