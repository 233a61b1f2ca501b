package handlers

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/group"
	"minibroker/record"
)

// offsetsLog is a partition of __consumer_offsets that forgets what is written.
type offsetsLog struct{ end int64 }

func (l *offsetsLog) Append(batch record.Batch, _ group.AppendOptions) (int64, error) {
	base := l.end
	l.end += int64(batch.Count())
	return base, nil
}
func (l *offsetsLog) StartOffset() int64                 { return 0 }
func (l *offsetsLog) EndOffset() int64                   { return l.end }
func (l *offsetsLog) Read(int64, []byte) ([]byte, error) { return nil, nil }
func (l *offsetsLog) MaxBatchBytes() int                 { return 1 << 20 }

// newGroupAPI is an API with groups; topic t, whose id it returns, has two partitions.
func newGroupAPI(t testing.TB) (a *adminAPI, id [16]byte) {
	t.Helper()
	a = newAdminAPI(t)
	a.groups = group.New(group.Options{Settings: func() group.Settings {
		return group.Settings{MinSessionTimeoutMs: 6000, MaxSessionTimeoutMs: 30000, MaxSize: 10, OffsetMetadataMaxChars: 4}
	}})
	a.groups.SetPartitionCount(1)
	a.groups.Lead(0, &offsetsLog{})
	t.Cleanup(a.groups.Close)
	return a, a.create("t", 2)
}

func joinRequest(groupID, memberID string) *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Group, r.MemberID, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = groupID, memberID, 10000, 10000
	r.ProtocolType = "consumer"
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", []byte("m")
	r.Protocols = append(r.Protocols, p, p) // the second of one name does not count
	return r
}

// joined makes a member and takes its group through the join phase.
func (a *adminAPI) joined(groupID string) *kmsg.JoinGroupResponse {
	a.t.Helper()
	j := ask[*kmsg.JoinGroupResponse](a, 2, joinRequest(groupID, ""))
	if j.ErrorCode != 0 {
		a.t.Fatalf("join: %d", j.ErrorCode)
	}
	return j
}

func TestJoinGroupByVersion(t *testing.T) {
	a, _ := newGroupAPI(t)
	for version := range int16(10) {
		groupID := "g" + string('0'+rune(version))
		j := ask[*kmsg.JoinGroupResponse](a, version, joinRequest(groupID, ""))
		if version >= 4 {
			if j.ErrorCode != codeMemberIDRequired || j.MemberID == "" || j.Generation != -1 {
				t.Fatalf("v%d: first answer %+v", version, j)
			}
			if (j.Protocol == nil) != (version >= 7) {
				t.Errorf("v%d: protocol %v in an error", version, j.Protocol)
			}
			j = ask[*kmsg.JoinGroupResponse](a, version, joinRequest(groupID, j.MemberID))
		}
		if j.ErrorCode != 0 || j.Generation != 1 || *j.Protocol != "range" || j.LeaderID != j.MemberID || len(j.Members) != 1 {
			t.Errorf("v%d: %+v", version, j)
		}
		if version >= 7 && (j.ProtocolType == nil || *j.ProtocolType != "consumer") {
			t.Errorf("v%d: protocol type %v", version, j.ProtocolType)
		}
	}
}

// TestJoinWithoutRebalanceTimeout expects that a group waits as long as sessions last
// for members whose version of the request has no other time.
func TestJoinWithoutRebalanceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := newGroupAPI(t)
		r := joinRequest("g", "")
		r.RebalanceTimeoutMillis = 0
		first := ask[*kmsg.JoinGroupResponse](a, 0, r)
		began := time.Now()
		second := ask[*kmsg.JoinGroupResponse](a, 0, r) // the first does not come back
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("the second waited %v", took)
		}
		if first.Generation != 1 || second.Generation != 2 || len(second.Members) != 1 {
			t.Errorf("%+v, %+v", first, second)
		}
	})
}

func TestSyncHeartbeatAndLeave(t *testing.T) {
	a, _ := newGroupAPI(t)
	j := a.joined("g")
	s := kmsg.NewPtrSyncGroupRequest()
	s.Group, s.Generation, s.MemberID = "g", 1, j.MemberID
	part := kmsg.NewSyncGroupRequestGroupAssignment()
	part.MemberID, part.MemberAssignment = j.MemberID, []byte("all")
	s.GroupAssignment = append(s.GroupAssignment, part)
	if got := ask[*kmsg.SyncGroupResponse](a, 5, s); got.ErrorCode != codeInconsistentGroupProtocol || got.MemberAssignment == nil {
		t.Errorf("v5 without a protocol: %+v", got)
	}
	if got := ask[*kmsg.SyncGroupResponse](a, 4, s); got.ErrorCode != 0 || string(got.MemberAssignment) != "all" {
		t.Errorf("v4: %+v", got)
	}
	h := kmsg.NewPtrHeartbeatRequest()
	h.Group, h.Generation, h.MemberID = "g", 2, j.MemberID
	if got := ask[*kmsg.HeartbeatResponse](a, 4, h); got.ErrorCode != codeIllegalGeneration {
		t.Errorf("heartbeat: %+v", got)
	}
	l := kmsg.NewPtrLeaveGroupRequest()
	l.Group, l.MemberID = "g", "nobody"
	if got := ask[*kmsg.LeaveGroupResponse](a, 2, l); got.ErrorCode != codeUnknownMemberID {
		t.Errorf("v2: %+v", got)
	}
	l = kmsg.NewPtrLeaveGroupRequest()
	l.Group = "g"
	l.Members = []kmsg.LeaveGroupRequestMember{{MemberID: "nobody"}, {MemberID: j.MemberID}}
	got := ask[*kmsg.LeaveGroupResponse](a, 5, l)
	if got.ErrorCode != 0 || len(got.Members) != 2 || got.Members[0].ErrorCode != codeUnknownMemberID || got.Members[1].ErrorCode != 0 {
		t.Errorf("v5: %+v", got)
	}
}

func commitRequest(groupID string, partitions ...kmsg.OffsetCommitRequestTopicPartition) *kmsg.OffsetCommitRequest {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Group, r.Generation, r.RetentionTimeMillis = groupID, -1, -1
	r.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "t", Partitions: partitions}}
	return r
}

func committing(partition int32, offset int64, metadata string) kmsg.OffsetCommitRequestTopicPartition {
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	p.Partition, p.Offset, p.Metadata = partition, offset, &metadata
	return p
}

// commitCodes are the codes of an answer by topic and partition, in order.
func commitCodes(r *kmsg.OffsetCommitResponse) []int16 {
	var codes []int16
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			codes = append(codes, p.ErrorCode)
		}
	}
	return codes
}

func TestOffsetCommitByVersion(t *testing.T) {
	a, id := newGroupAPI(t)
	for version := int16(2); version <= 10; version++ {
		r := commitRequest("g", committing(0, int64(version), "m"), committing(1, 1, "too long"), committing(2, 1, ""))
		r.Topics = append(r.Topics, kmsg.OffsetCommitRequestTopic{Topic: "absent", TopicID: [16]byte{9}, Partitions: r.Topics[0].Partitions[:1]})
		r.Topics[0].TopicID = id
		unknown := codeUnknownTopicOrPartition
		if version >= 10 {
			unknown = codeUnknownTopicID
		}
		// What is not there comes first: it was answered before the group was asked.
		want := []int16{codeUnknownTopicOrPartition, 0, codeOffsetMetadataTooLarge, unknown}
		got := ask[*kmsg.OffsetCommitResponse](a, version, r)
		if codes := commitCodes(got); !slices.Equal(codes, want) {
			t.Errorf("v%d: codes %v, want %v", version, codes, want)
		}
		if version >= 10 && got.Topics[0].TopicID != id {
			t.Errorf("v%d: %+v", version, got.Topics[0])
		}
	}
	r := commitRequest("none", committing(0, 1, ""))
	r.Generation = 3
	for version, want := range map[int16]int16{8: codeIllegalGeneration, 9: codeGroupIDNotFound} {
		if codes := commitCodes(ask[*kmsg.OffsetCommitResponse](a, version, r)); !slices.Equal(codes, []int16{want}) {
			t.Errorf("v%d: codes %v", version, codes)
		}
	}
}

func TestOffsetFetchByVersion(t *testing.T) {
	a, id := newGroupAPI(t)
	ask[*kmsg.OffsetCommitResponse](a, 8, commitRequest("g", committing(1, 11, "m")))
	for version := int16(1); version <= 7; version++ {
		r := kmsg.NewPtrOffsetFetchRequest()
		r.Group = "g"
		r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{1, 0}}}
		got := ask[*kmsg.OffsetFetchResponse](a, version, r)
		p := got.Topics[0].Partitions
		if got.ErrorCode != 0 || len(p) != 2 || p[0].Offset != 11 || *p[0].Metadata != "m" || p[1].Offset != -1 || *p[1].Metadata != "" {
			t.Errorf("v%d: %+v", version, got)
		}
		if r.Topics = nil; version >= 2 {
			if got := ask[*kmsg.OffsetFetchResponse](a, version, r); len(got.Topics) != 1 || len(got.Topics[0].Partitions) != 1 {
				t.Errorf("v%d, all topics: %+v", version, got)
			}
		}
	}
	for version := int16(8); version <= 10; version++ {
		r := kmsg.NewPtrOffsetFetchRequest()
		asked := []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", TopicID: id, Partitions: []int32{1}}, {Topic: "absent", TopicID: [16]byte{9}, Partitions: []int32{0}}}
		r.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", MemberEpoch: -1}, {Group: "g", MemberEpoch: -1, Topics: asked}, {Group: "none", MemberEpoch: -1}}
		got := ask[*kmsg.OffsetFetchResponse](a, version, r).Groups
		if len(got) != 3 || got[0].Topics[0].Partitions[0].Offset != 11 || len(got[1].Topics) != 2 || len(got[2].Topics) != 0 {
			t.Fatalf("v%d: %+v", version, got)
		}
		codes := map[int16]bool{got[1].Topics[0].Partitions[0].ErrorCode: true, got[1].Topics[1].Partitions[0].ErrorCode: true}
		if codes[codeUnknownTopicID] != (version >= 10) {
			t.Errorf("v%d: %+v", version, got[1])
		}
	}
}

func TestOffsetFetchOfACoordinatorThatIsNotThere(t *testing.T) {
	a, _ := newGroupAPI(t)
	a.groups.Resign(0)
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Group = "g"
	r.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: "t", Partitions: []int32{1}}}
	if got := ask[*kmsg.OffsetFetchResponse](a, 1, r); got.Topics[0].Partitions[0].ErrorCode != codeNotCoordinator {
		t.Errorf("v1: %+v", got)
	}
	if got := ask[*kmsg.OffsetFetchResponse](a, 7, r); got.ErrorCode != codeNotCoordinator || len(got.Topics) != 0 {
		t.Errorf("v7: %+v", got)
	}
	r.Groups = []kmsg.OffsetFetchRequestGroup{{Group: "g", MemberEpoch: -1}}
	if got := ask[*kmsg.OffsetFetchResponse](a, 8, r); got.Groups[0].ErrorCode != codeNotCoordinator {
		t.Errorf("v8: %+v", got)
	}
}

func TestOffsetDelete(t *testing.T) {
	a, _ := newGroupAPI(t)
	r := kmsg.NewPtrOffsetDeleteRequest()
	r.Group = "g"
	r.Topics = []kmsg.OffsetDeleteRequestTopic{
		{Topic: "t", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}, {Partition: 2}}},
		{Topic: "absent", Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}},
	}
	if got := ask[*kmsg.OffsetDeleteResponse](a, 0, r); got.ErrorCode != codeGroupIDNotFound || len(got.Topics) != 0 {
		t.Errorf("unknown group: %+v", got)
	}
	ask[*kmsg.OffsetCommitResponse](a, 8, commitRequest("g", committing(0, 11, "")))
	got := ask[*kmsg.OffsetDeleteResponse](a, 0, r)
	if got.ErrorCode != 0 || got.Topics[0].Partitions[0].ErrorCode != 0 || got.Topics[0].Partitions[1].ErrorCode != codeUnknownTopicOrPartition ||
		got.Topics[1].Partitions[0].ErrorCode != codeUnknownTopicOrPartition {
		t.Errorf("%+v", got)
	}
}

func TestListDescribeAndDeleteGroups(t *testing.T) {
	a, _ := newGroupAPI(t)
	a.joined("live")
	ask[*kmsg.OffsetCommitResponse](a, 8, commitRequest("empty", committing(0, 11, "")))
	list := kmsg.NewPtrListGroupsRequest()
	list.StatesFilter, list.TypesFilter = []string{"completingrebalance"}, []string{"CLASSIC"}
	got := ask[*kmsg.ListGroupsResponse](a, 5, list)
	if len(got.Groups) != 1 || got.Groups[0].Group != "live" || got.Groups[0].GroupState != "CompletingRebalance" || got.Groups[0].GroupType != "classic" {
		t.Errorf("list: %+v", got)
	}
	describe := kmsg.NewPtrDescribeGroupsRequest()
	describe.Groups, describe.IncludeAuthorizedOperations = []string{"live", "none"}, true
	for _, version := range []int16{5, 6} {
		got := ask[*kmsg.DescribeGroupsResponse](a, version, describe).Groups
		if len(got[0].Members) != 1 || got[0].AuthorizedOperations != groupOperations || got[0].State != "CompletingRebalance" {
			t.Errorf("v%d: %+v", version, got[0])
		}
		code, text := int16(0), ""
		if version >= 6 {
			code, text = codeGroupIDNotFound, "Group none not found."
		}
		if got[1].State != "Dead" || got[1].ErrorCode != code || !strings.HasPrefix(deref(got[1].ErrorMessage), text) {
			t.Errorf("v%d: %+v", version, got[1])
		}
	}
	remove := kmsg.NewPtrDeleteGroupsRequest()
	remove.Groups = []string{"live", "empty", "none", "none"}
	codes := map[string]int16{}
	for _, g := range ask[*kmsg.DeleteGroupsResponse](a, 3, remove).Groups {
		codes[g.Group] = g.ErrorCode
	}
	if codes["live"] != codeNonEmptyGroup || codes["empty"] != 0 || codes["none"] != codeGroupIDNotFound || len(codes) != 3 {
		t.Errorf("delete: %v", codes)
	}
}
