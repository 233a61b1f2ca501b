package handlers

import (
	"crypto/hmac"
	"crypto/sha256"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/metadata"
)

// quotaEntry changes limits of one entity; parts are type and name, a name of "-" is null.
func quotaEntry(parts []string, ops ...kmsg.AlterClientQuotasRequestEntryOp) kmsg.AlterClientQuotasRequestEntry {
	entry := kmsg.NewAlterClientQuotasRequestEntry()
	for i := 0; i+1 < len(parts); i += 2 {
		part := kmsg.NewAlterClientQuotasRequestEntryEntity()
		if part.Type = parts[i]; parts[i+1] != "-" {
			part.Name = &parts[i+1]
		}
		entry.Entity = append(entry.Entity, part)
	}
	entry.Ops = ops
	return entry
}

func limit(key string, value float64) kmsg.AlterClientQuotasRequestEntryOp {
	return kmsg.AlterClientQuotasRequestEntryOp{Key: key, Value: value}
}

func (a *adminAPI) alterQuotas(entries ...kmsg.AlterClientQuotasRequestEntry) []string {
	a.t.Helper()
	request := kmsg.NewPtrAlterClientQuotasRequest()
	request.Entries = entries
	var results []string
	for _, e := range ask[*kmsg.AlterClientQuotasResponse](a, 1, request).Entries {
		results = append(results, said(e.ErrorCode, e.ErrorMessage))
	}
	return results
}

func TestAlterClientQuotasRefusals(t *testing.T) {
	a := newAdminAPI(t)
	client := []string{"client-id", "c"}
	for _, c := range []struct {
		parts []string
		op    kmsg.AlterClientQuotasRequestEntryOp
		want  string
	}{
		{client, limit("no_such_rate", 1), "42 Invalid configuration key no_such_rate"},
		{client, limit("producer_byte_rate", 0), "42 Quota producer_byte_rate must be greater than 0"},
		{client, limit("producer_byte_rate", 1.5), "42 producer_byte_rate cannot be a fractional value."},
		{client, limit("producer_byte_rate", math.Inf(1)), "42 Quota producer_byte_rate must be a finite number"},
		{client, limit("producer_byte_rate", 1e19), "42 Proposed value for producer_byte_rate is too large for a LONG."},
		{client, limit("request_percentage", 1.5), "0 null"},
		{nil, limit("producer_byte_rate", 1), "42 Invalid empty client quota entity"},
		{[]string{"user", ""}, limit("producer_byte_rate", 1), "42 Empty user not supported"},
		{[]string{"shoe", "x"}, limit("producer_byte_rate", 1), "42 Unhandled client quota entity type: shoe"},
		{[]string{"ip", "10.0.0.1"}, limit("connection_creation_rate", 1e10), "42 Proposed value for connection_creation_rate is too large for an INT."},
		{[]string{"ip", "10.0.0.1", "user", "u"}, limit("connection_creation_rate", 1),
			"42 Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"},
	} {
		if got := a.alterQuotas(quotaEntry(c.parts, c.op)); len(got) != 1 || got[0] != c.want {
			t.Errorf("%v %s=%v: %q, want %q", c.parts, c.op.Key, c.op.Value, got, c.want)
		}
	}
	// One wrong limit keeps the right one out.
	a.alterQuotas(quotaEntry([]string{"user", "u"}, limit("consumer_byte_rate", 0.5), limit("request_percentage", 50)))
	for _, q := range a.meta.Image().Quotas() {
		if q.Entity[0].Type == "user" {
			t.Errorf("a refused entity has limits %v", q.Limits)
		}
	}
}

func TestClientQuotasAreKeptAndFound(t *testing.T) {
	a := newAdminAPI(t)
	a.alterQuotas(
		quotaEntry([]string{"client-id", "c"}, limit("producer_byte_rate", 1000)),
		quotaEntry([]string{"user", "u", "client-id", "-"}, limit("consumer_byte_rate", 2000)),
		quotaEntry([]string{"user", "null"}, limit("consumer_byte_rate", 3)))
	u := "u"
	find := func(strict bool, components ...kmsg.DescribeClientQuotasRequestComponent) int {
		request := kmsg.NewPtrDescribeClientQuotasRequest()
		request.Components, request.Strict = components, strict
		answer := ask[*kmsg.DescribeClientQuotasResponse](a, 1, request)
		if answer.ErrorCode != 0 {
			t.Fatal(said(answer.ErrorCode, answer.ErrorMessage))
		}
		return len(answer.Entries)
	}
	exact := kmsg.DescribeClientQuotasRequestComponent{EntityType: "user", Match: &u}
	anyClient := kmsg.DescribeClientQuotasRequestComponent{EntityType: "client-id", MatchType: kmsg.QuotasMatchTypeAny}
	defaultClient := kmsg.DescribeClientQuotasRequestComponent{EntityType: "client-id", MatchType: kmsg.QuotasMatchTypeDefault}
	for n, got := range map[int]int{3: find(false), 1: find(false, exact), 0: find(true, exact), 2: find(false, anyClient)} {
		if got != n {
			t.Errorf("%d entities found, want %d", got, n)
		}
	}
	if got := find(true, exact, defaultClient); got != 1 {
		t.Errorf("user u and the default client: %d entities found", got)
	}
	gone := limit("producer_byte_rate", 0)
	gone.Remove = true
	if got := a.alterQuotas(quotaEntry([]string{"client-id", "c"}, gone)); got[0] != "0 null" || find(false, anyClient) != 1 {
		t.Errorf("removal: %q, %d entities with a client id", got, find(false, anyClient))
	}
}

// TestLimitsAreShownInKafkasOrder holds the order to that of the map that ClientQuotaImage of Kafka 4.4.0 keeps them in.
func TestLimitsAreShownInKafkasOrder(t *testing.T) {
	a := newAdminAPI(t)
	produce, consume := limit("producer_byte_rate", 1000), limit("consumer_byte_rate", 1000)
	percentage, mutations := limit("request_percentage", 0.5), limit("controller_mutation_rate", 10)
	for want, limits := range map[string][]kmsg.AlterClientQuotasRequestEntryOp{
		"request_percentage producer_byte_rate":                                             {produce, percentage},
		"consumer_byte_rate request_percentage producer_byte_rate":                          {produce, consume, percentage},
		"consumer_byte_rate controller_mutation_rate request_percentage":                    {percentage, mutations, consume},
		"producer_byte_rate consumer_byte_rate controller_mutation_rate request_percentage": {consume, produce, percentage, mutations},
	} {
		user := strconv.Itoa(len(want))
		a.alterQuotas(quotaEntry([]string{"user", user}, limits...))
		request := kmsg.NewPtrDescribeClientQuotasRequest()
		request.Components = []kmsg.DescribeClientQuotasRequestComponent{{EntityType: "user", Match: &user}}
		var got []string
		for _, e := range ask[*kmsg.DescribeClientQuotasResponse](a, 1, request).Entries {
			for _, v := range e.Values {
				got = append(got, v.Key)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

func TestScramKeysFollowFromTheSaltedPassword(t *testing.T) {
	a := newAdminAPI(t)
	request := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	salted := []byte("0123456789abcdef0123456789abcdef")
	request.Upsertions = []kmsg.AlterUserSCRAMCredentialsRequestUpsertion{
		{Name: "u", Mechanism: 1, Iterations: 4096, Salt: []byte("salt"), SaltedPassword: salted},
		{Name: "few", Mechanism: 1, Iterations: 4095, Salt: []byte("salt"), SaltedPassword: salted},
	}
	results := ask[*kmsg.AlterUserSCRAMCredentialsResponse](a, 0, request).Results
	if len(results) != 2 || said(results[0].ErrorCode, results[0].ErrorMessage) != "0 null" ||
		said(results[1].ErrorCode, results[1].ErrorMessage) != "93 Too few iterations" {
		t.Fatalf("results %+v", results)
	}
	c, ok := a.meta.Image().ScramCredential(metadata.ScramUser{Name: "u", Mechanism: 1})
	if !ok {
		t.Fatal("nothing is stored")
	}
	// A server proves itself with the server key, and takes a client whose proof hashes to the stored key.
	mac := hmac.New(sha256.New, salted)
	mac.Write([]byte("Client Key"))
	stored := sha256.Sum256(mac.Sum(nil))
	if string(c.StoredKey) != string(stored[:]) || len(c.ServerKey) != 32 || c.Iterations != 4096 || string(c.Salt) != "salt" {
		t.Errorf("stored %+v", c)
	}
	describe := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, name := range []string{"u", "absent", "u"} {
		describe.Users = append(describe.Users, kmsg.DescribeUserSCRAMCredentialsRequestUser{Name: name})
	}
	found := ask[*kmsg.DescribeUserSCRAMCredentialsResponse](a, 0, describe).Results
	if len(found) != 2 || found[0].ErrorCode != codeDuplicateResource || found[1].ErrorCode != codeResourceNotFound {
		t.Errorf("described %+v", found)
	}
}
