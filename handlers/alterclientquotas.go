package handlers

import (
	"cmp"
	"context"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
	"minibroker/protocol"
)

// AlterClientQuotas, versions 0 and 1.
//
// Limits go to the metadata log in Kafka's records. Of two parts of one type in
// an entity the last counts. An entity with one refused limit keeps all that it
// had; the other entities of the request are changed.

// quotaChange is what a request changes about one entity.
type quotaChange struct {
	entity  []metadata.QuotaEntity
	ops     []kmsg.AlterClientQuotasRequestEntryOp
	result  error
	records []metadata.Record
}

func (a *API) alterClientQuotas(ctx context.Context, _ *protocol.Request, body *kmsg.AlterClientQuotasRequest) (kmsg.Response, error) {
	a.configChange.Lock()
	defer a.configChange.Unlock()
	changes := gatherQuotas(body.Entries)
	current := make(map[string]map[string]float64)
	for _, q := range a.meta.Image().Quotas() {
		current[entityKey(q.Entity)] = q.Limits
	}
	var records []metadata.Record
	for _, c := range changes {
		if c.result == nil {
			c.result = c.plan(ctx, current[entityKey(c.entity)])
		}
		if c.result == nil {
			records = append(records, c.records...)
		}
	}
	if !body.ValidateOnly && len(records) > 0 {
		if err := a.meta.Append(records); err != nil {
			a.log.Error("quotas were not written", "error", err)
			for _, c := range changes {
				c.result = changeError(err)
			}
		}
	}
	answer := kmsg.NewPtrAlterClientQuotasResponse()
	answer.Version = body.Version
	for _, c := range inHashOrder(changes) {
		answer.Entries = append(answer.Entries, c.answer())
	}
	return answer, nil
}

// inHashOrder brings changes into the order of Kafka's answers, which is that of
// a java.util.HashMap.
func inHashOrder(changes []*quotaChange) []*quotaChange {
	table := metadata.DefaultHashTable.Holding(len(changes))
	slices.SortStableFunc(changes, func(a, b *quotaChange) int {
		return cmp.Compare(table.Bucket(metadata.QuotaHash(a.entity)), table.Bucket(metadata.QuotaHash(b.entity)))
	})
	return changes
}

// gatherQuotas makes one change of each entity that the request names.
func gatherQuotas(entries []kmsg.AlterClientQuotasRequestEntry) []*quotaChange {
	var changes []*quotaChange
	byEntity := make(map[string]*quotaChange)
	for i := range entries {
		entity := entityOf(entries[i].Entity)
		key := entityKey(entity)
		if c, twice := byEntity[key]; twice {
			c.refuseTwice()
			continue
		}
		c := &quotaChange{entity: entity, ops: entries[i].Ops}
		for j, op := range c.ops {
			if slices.ContainsFunc(c.ops[:j], func(o kmsg.AlterClientQuotasRequestEntryOp) bool { return o.Key == op.Key }) {
				c.refuseTwice()
			}
		}
		byEntity[key] = c
		changes = append(changes, c)
	}
	return changes
}

// refuseTwice refuses an entity, or a limit of it, that is named twice.
func (c *quotaChange) refuseTwice() {
	c.result = &apiError{codeInvalidRequest, "Ignoring duplicate entity " + entityText(c.entity)}
}

// entityOf takes the parts of an entity, each type once, sorted by type.
func entityOf(parts []kmsg.AlterClientQuotasRequestEntryEntity) []metadata.QuotaEntity {
	var entity []metadata.QuotaEntity
	for i := range parts {
		part := metadata.QuotaEntity{Type: parts[i].Type, Name: parts[i].Name}
		at := slices.IndexFunc(entity, func(e metadata.QuotaEntity) bool { return e.Type == part.Type })
		if at < 0 {
			entity = append(entity, part)
		} else {
			entity[at] = part
		}
	}
	slices.SortFunc(entity, func(a, b metadata.QuotaEntity) int { return strings.Compare(a.Type, b.Type) })
	return entity
}

// entityText names an entity as Kafka's messages do.
func entityText(entity []metadata.QuotaEntity) string {
	parts := make([]string, len(entity))
	for i, e := range entity {
		name := "null"
		if e.Name != nil {
			name = *e.Name
		}
		parts[i] = e.Type + "=" + name
	}
	return "ClientQuotaEntity(entries={" + strings.Join(parts, ", ") + "})"
}

// entityKey is a text that no other entity has, in whatever order its parts are.
func entityKey(entity []metadata.QuotaEntity) string {
	parts := make([]string, len(entity))
	for i, e := range entity {
		parts[i] = strconv.Quote(e.Type)
		if e.Name != nil {
			parts[i] += "=" + strconv.Quote(*e.Name)
		}
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

// plan checks the change and makes its records.
func (c *quotaChange) plan(ctx context.Context, current map[string]float64) error {
	limits, err := quotaLimitsOf(ctx, c.entity)
	if err != nil {
		return err
	}
	for _, op := range c.ops {
		old, had := current[op.Key]
		if op.Remove {
			if had {
				c.records = append(c.records, &metadata.ClientQuotaRecord{Entity: c.entity, Name: op.Key, Remove: true})
			}
			continue
		}
		if err := checkQuotaValue(limits, op.Key, op.Value); err != nil {
			return err
		}
		if !had || old != op.Value {
			c.records = append(c.records, &metadata.ClientQuotaRecord{Entity: c.entity, Name: op.Key, Value: op.Value})
		}
	}
	return nil
}

// quotaLimitsOf checks an entity and returns the limits it can have, each with
// its largest whole number; 0 for those that may be fractions.
func quotaLimitsOf(ctx context.Context, entity []metadata.QuotaEntity) (map[string]float64, error) {
	if len(entity) == 0 {
		return nil, &apiError{codeInvalidRequest, "Invalid empty client quota entity"}
	}
	var ip *metadata.QuotaEntity
	for i, e := range entity {
		switch {
		case e.Type != quotaUser && e.Type != quotaClientID && e.Type != quotaIP:
			return nil, &apiError{codeInvalidRequest, "Unhandled client quota entity type: " + e.Type}
		case e.Name != nil && *e.Name == "":
			return nil, &apiError{codeInvalidRequest, "Empty " + e.Type + " not supported"}
		case e.Type == quotaIP:
			ip = &entity[i]
		}
	}
	if ip == nil {
		return map[string]float64{"producer_byte_rate": math.MaxInt64, "consumer_byte_rate": math.MaxInt64,
			"request_percentage": 0, "controller_mutation_rate": 0}, nil
	}
	if len(entity) > 1 {
		return nil, &apiError{codeInvalidRequest, "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"}
	}
	if ip.Name != nil && net.ParseIP(*ip.Name) == nil {
		if _, err := net.DefaultResolver.LookupHost(ctx, *ip.Name); err != nil {
			return nil, &apiError{codeInvalidRequest, *ip.Name + " is not a valid IP or resolvable host."}
		}
	}
	return map[string]float64{"connection_creation_rate": math.MaxInt32}, nil
}

func checkQuotaValue(limits map[string]float64, key string, value float64) error {
	largest, known := limits[key]
	text := ""
	switch {
	case !known:
		text = "Invalid configuration key " + key
	case math.IsNaN(value) || math.IsInf(value, 0):
		text = "Quota " + key + " must be a finite number"
	case value <= 0:
		text = "Quota " + key + " must be greater than 0"
	case largest == math.MaxInt32 && value > largest:
		text = "Proposed value for " + key + " is too large for an INT."
	case largest > math.MaxInt32 && value > largest:
		text = "Proposed value for " + key + " is too large for a LONG."
	case largest > 0 && math.Mod(value, 1) > 1e-6:
		text = key + " cannot be a fractional value."
	default:
		return nil
	}
	return &apiError{codeInvalidRequest, text}
}

func (c *quotaChange) answer() kmsg.AlterClientQuotasResponseEntry {
	entry := kmsg.NewAlterClientQuotasResponseEntry()
	entry.ErrorCode, entry.ErrorMessage = errorCode(c.result), errorMessage(c.result)
	for _, e := range c.entity {
		part := kmsg.NewAlterClientQuotasResponseEntryEntity()
		part.Type, part.Name = e.Type, e.Name
		entry.Entity = append(entry.Entity, part)
	}
	return entry
}
