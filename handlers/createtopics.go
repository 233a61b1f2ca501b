package handlers

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"minibroker/logstore"
	"minibroker/metadata"
	"minibroker/protocol"
)

// CreateTopics, versions 2 to 7.
//
// The checks come in Kafka's order: duplicates, the number of partitions of the
// whole request, names, existing topics, configs, and then counts or manual
// assignments. Topics without a mistake are created although others have one.
// Nothing is created when the timeout is 0 or less, which the controller of Kafka
// takes for expired.

// maxPartitionsPerRequest bounds what one CreateTopics or CreatePartitions may
// ask for, as Kafka's controller does.
const maxPartitionsPerRequest = 10_000

// maxRecordsPerRequest bounds what one request may write to the metadata log,
// for the same reason: it is written at once.
const maxRecordsPerRequest = 10_000

func (a *API) createTopics(_ context.Context, req *protocol.Request, body *kmsg.CreateTopicsRequest) (kmsg.Response, error) {
	answer := kmsg.NewPtrCreateTopicsResponse()
	answer.Version = body.Version
	mutations := a.mutationsOf(req, 6)
	topics, duplicates := distinctTopics(body.Topics)
	err := a.checkCreateTopics(body.TimeoutMillis, topics)
	if err == nil {
		answer.Topics, err = a.createAll(topics, body.ValidateOnly, mutations)
	}
	answer.ThrottleMillis = mutations.throttle()
	if err != nil {
		answer.Topics = nil
		for i := range body.Topics {
			answer.Topics = append(answer.Topics, refuseTopic(body.Topics[i].Topic, err))
		}
		return answer, nil
	}
	for _, name := range duplicates {
		answer.Topics = append(answer.Topics, refuseTopic(name, &apiError{codeInvalidRequest, "Duplicate topic name."}))
	}
	return answer, nil
}

// distinctTopics separates the topics that a request names once from the names
// that it has more often.
func distinctTopics(all []kmsg.CreateTopicsRequestTopic) (once []*kmsg.CreateTopicsRequestTopic, duplicates []string) {
	count := make(map[string]int, len(all))
	for i := range all {
		count[all[i].Topic]++
		if count[all[i].Topic] == 2 {
			duplicates = append(duplicates, all[i].Topic)
		}
	}
	for i := range all {
		if count[all[i].Topic] == 1 {
			once = append(once, &all[i])
		}
	}
	return once, duplicates
}

// createAll plans every topic, creates those that passed unless nothing but a
// check was asked for, and answers for each. An error refuses the request.
func (a *API) createAll(topics []*kmsg.CreateTopicsRequestTopic, validateOnly bool, mutations *mutationQuota) ([]kmsg.CreateTopicsResponseTopic, error) {
	image := a.meta.Image()
	answers := make([]kmsg.CreateTopicsResponseTopic, len(topics))
	var plans []metadata.NewTopic
	var planned []int // index in answers of each plan
	records := 0
	var usual []kmsg.CreateTopicsResponseTopicConfig // of topics without settings of their own
	for i, t := range topics {
		plan, err := a.planTopic(image, t)
		if err == nil {
			err = mutations.take(max(plan.Partitions, len(plan.Assignments)))
		}
		if err != nil {
			answers[i] = refuseTopic(t.Topic, err)
			continue
		}
		if records += recordsOf(plan); records > maxRecordsPerRequest {
			return nil, changeError(metadata.ErrTooManyRecords)
		}
		if answers[i] = acceptTopic(plan); len(plan.Configs) > 0 {
			answers[i].Configs = a.acceptedConfigs(plan.Configs)
		} else {
			if usual == nil {
				usual = a.acceptedConfigs(nil)
			}
			answers[i].Configs = usual
		}
		plans, planned = append(plans, plan), append(planned, i)
	}
	if validateOnly {
		return answers, nil
	}
	for n, err := range a.createPlanned(plans) {
		if err != nil {
			answers[planned[n]] = refuseTopic(plans[n].Name, changeError(err))
		}
	}
	return answers, nil
}

// recordsOf is the number of records in the metadata log that a topic takes:
// one for itself, one for each setting and one for each partition.
func recordsOf(plan metadata.NewTopic) int {
	return 1 + len(plan.Configs) + max(plan.Partitions, len(plan.Assignments))
}

// createPlanned creates topics in one change and returns an error for each, nil
// for those that are there now. When another request was faster with one of
// them, the others are created one by one.
func (a *API) createPlanned(plans []metadata.NewTopic) []error {
	if len(plans) == 0 {
		return nil
	}
	errs := make([]error, len(plans))
	_, err := a.meta.CreateTopics(plans)
	for i := range plans {
		errs[i] = err
		if errors.Is(err, metadata.ErrTopicExists) && len(plans) > 1 {
			_, errs[i] = a.meta.CreateTopics(plans[i : i+1])
		}
	}
	return errs
}

// checkCreateTopics returns what refuses all topics of a request.
func (a *API) checkCreateTopics(timeoutMillis int32, topics []*kmsg.CreateTopicsRequestTopic) error {
	if timeoutMillis <= 0 {
		return &apiError{code: codeRequestTimedOut}
	}
	total := int64(0)
	for _, t := range topics {
		switch {
		case len(t.ReplicaAssignment) > 0:
			total += int64(len(t.ReplicaAssignment))
		case t.NumPartitions == -1:
			total += int64(a.layers().Int("num.partitions"))
		case t.NumPartitions > 0:
			total += int64(t.NumPartitions)
		}
	}
	if total > maxPartitionsPerRequest {
		return &apiError{codePolicyViolation, "Excessively large number of partitions per request."}
	}
	return nil
}

// planTopic checks one topic and returns what is to be created. The error is an
// *apiError.
func (a *API) planTopic(image *metadata.Image, t *kmsg.CreateTopicsRequestTopic) (metadata.NewTopic, error) {
	if t.Topic == metadataTopic {
		return metadata.NewTopic{}, &apiError{codeInvalidRequest, "Creation of internal topic " + metadataTopic + " is prohibited."}
	}
	if err := checkTopicName(t.Topic); err != nil {
		return metadata.NewTopic{}, err
	}
	if _, exists := image.Topic(t.Topic); exists {
		return metadata.NewTopic{}, topicExists(t.Topic)
	}
	if other := collidingTopic(image, t.Topic); other != "" {
		return metadata.NewTopic{}, &apiError{codeInvalidTopicException, "Topic '" + t.Topic + "' collides with existing topic: " + other}
	}
	plan := metadata.NewTopic{Name: t.Topic, ID: logstore.NewUUID()}
	var err error
	if plan.Configs, err = a.plannedConfigs(t.Configs); err != nil {
		return metadata.NewTopic{}, err
	}
	if len(t.ReplicaAssignment) > 0 {
		plan.Assignments, err = a.manualAssignments(t)
	} else {
		plan.Partitions, err = a.partitionCount(t)
	}
	return plan, err
}

// collidingTopic returns the first existing topic whose name differs from name
// in '.' and '_' only, "" when there is none.
func collidingTopic(image *metadata.Image, name string) string {
	if !strings.ContainsAny(name, "._") {
		return ""
	}
	for _, t := range image.Topics() {
		if collides(t.Name, name) {
			return t.Name
		}
	}
	return ""
}

// plannedConfigs checks the settings of a new topic. Of a name that is given
// twice the last value counts.
func (a *API) plannedConfigs(given []kmsg.CreateTopicsRequestTopicConfig) (map[string]string, error) {
	configs := make(map[string]string, len(given))
	var null []string
	for i := range given {
		if given[i].Value == nil {
			null = append(null, given[i].Name)
			continue
		}
		configs[given[i].Name] = *given[i].Value
	}
	if len(null) > 0 {
		return nil, &apiError{codeInvalidConfig, "Null value not supported for topic configs: " + strings.Join(null, ",")}
	}
	if len(configs) == 0 {
		return nil, nil
	}
	if err := a.layers().CheckTopic(configs); err != nil {
		return nil, &apiError{codeInvalidConfig, err.Error()}
	}
	return configs, nil
}

// partitionCount returns the number of partitions of a topic that leaves the
// placement to the broker.
func (a *API) partitionCount(t *kmsg.CreateTopicsRequestTopic) (int, error) {
	factor, count := int(t.ReplicationFactor), int(t.NumPartitions)
	if factor < -1 || factor == 0 {
		return 0, &apiError{codeInvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value."}
	}
	if count < -1 || count == 0 {
		return 0, &apiError{codeInvalidPartitions, "Number of partitions was set to an invalid non-positive value."}
	}
	if factor == -1 {
		factor = a.layers().Int("default.replication.factor")
	}
	if count == -1 {
		count = a.layers().Int("num.partitions")
	}
	if factor > 1 {
		return 0, &apiError{codeInvalidReplicationFactor,
			fmt.Sprintf("Unable to replicate the partition %d time(s): %s", factor, unreachableFactor(factor))}
	}
	if a.isFullyCordoned() {
		return 0, &apiError{codeInvalidReplicationFactor, "Unable to replicate the partition 1 time(s): " + fullyCordoned}
	}
	return count, nil
}

// fullyCordoned is Kafka's sentence for a node that takes no new replicas.
const fullyCordoned = "All brokers are currently fenced, or have all their log directories cordoned."

// isFullyCordoned reports whether no log dir takes new replicas.
func (a *API) isFullyCordoned() bool {
	cordoned := a.layers().List("cordoned.log.dirs")
	if len(cordoned) == 0 {
		return false
	}
	for _, d := range a.store.Dirs() {
		if !isCordoned(cordoned, d.Path) {
			return false
		}
	}
	return true
}

// unreachableFactor is Kafka's sentence for more replicas than there are nodes.
func unreachableFactor(factor int) string {
	return fmt.Sprintf("The target replication factor of %d cannot be reached because only 1 broker(s) are registered or "+
		"some brokers have all their log directories cordoned.", factor)
}

// manualAssignments checks and orders the replicas that a request prescribes.
func (a *API) manualAssignments(t *kmsg.CreateTopicsRequestTopic) ([][]int32, error) {
	if t.ReplicationFactor != -1 {
		return nil, &apiError{codeInvalidRequest, "A manual partition assignment was specified, but replication factor was not set to -1."}
	}
	if t.NumPartitions != -1 {
		return nil, &apiError{codeInvalidRequest, "A manual partition assignment was specified, but numPartitions was not set to -1."}
	}
	byPartition := make(map[int32][]int32, len(t.ReplicaAssignment))
	factor := 0
	for i := range t.ReplicaAssignment {
		given := &t.ReplicaAssignment[i]
		if _, twice := byPartition[given.Partition]; twice {
			return nil, &apiError{codeInvalidReplicaAssignment,
				fmt.Sprintf("Found multiple manual partition assignments for partition %d", given.Partition)}
		}
		if err := a.checkReplicas(given.Replicas, factor); err != nil {
			return nil, err
		}
		factor = len(given.Replicas)
		byPartition[given.Partition] = given.Replicas
	}
	assignments := make([][]int32, len(byPartition))
	for i := range assignments {
		replicas, ok := byPartition[int32(i)]
		if !ok {
			return nil, &apiError{codeInvalidReplicaAssignment, "partitions should be a consecutive 0-based integer sequence"}
		}
		assignments[i] = replicas
	}
	return assignments, nil
}

// checkReplicas checks one list of replicas; factor is the length that it must
// have, 0 for any.
func (a *API) checkReplicas(replicas []int32, factor int) error {
	refuse := func(format string, args ...any) error {
		return &apiError{codeInvalidReplicaAssignment, fmt.Sprintf("The manual partition assignment includes "+format, args...)}
	}
	if len(replicas) == 0 {
		return refuse("an empty replica list.")
	}
	sorted := append([]int32(nil), replicas...)
	sort.Slice(sorted, func(i, j int) bool { return sorted[i] < sorted[j] })
	for i, id := range sorted {
		if id != a.config.NodeID() {
			return refuse("broker %d, but no such broker is registered.", id)
		}
		if a.isFullyCordoned() {
			return refuse("broker %d, but all its log directories are cordoned.", id)
		}
		if i > 0 && sorted[i-1] == id {
			return refuse("the broker %d more than once.", id)
		}
	}
	if factor > 0 && len(sorted) != factor {
		return refuse("a partition with %d replica(s), but this is not consistent with previous partitions, which have %d replica(s).",
			len(sorted), factor)
	}
	return nil
}

// refuseTopic answers a topic that is not created.
func refuseTopic(name string, err error) kmsg.CreateTopicsResponseTopic {
	answer := kmsg.NewCreateTopicsResponseTopic()
	answer.Topic = name
	answer.Configs = []kmsg.CreateTopicsResponseTopicConfig{} // Kafka sends an empty list, not null
	if errors.Is(err, metadata.ErrTopicExists) {
		err = topicExists(name)
	}
	answer.ErrorCode = errorCode(err)
	answer.ErrorMessage = errorMessage(err)
	return answer
}

func topicExists(name string) error {
	return &apiError{codeTopicAlreadyExists, "Topic '" + name + "' already exists."}
}

// acceptTopic answers a topic that is created: with the settings that it has.
func acceptTopic(plan metadata.NewTopic) kmsg.CreateTopicsResponseTopic {
	answer := kmsg.NewCreateTopicsResponseTopic()
	answer.Topic = plan.Name
	answer.TopicID = plan.ID
	answer.NumPartitions = int32(plan.Partitions)
	if len(plan.Assignments) > 0 {
		answer.NumPartitions = int32(len(plan.Assignments))
	}
	answer.ReplicationFactor = 1
	return answer
}

// acceptedConfigs is all settings of a new topic that has these of its own.
func (a *API) acceptedConfigs(own map[string]string) []kmsg.CreateTopicsResponseTopicConfig {
	entries := a.layers().DescribeTopic(own)
	configs := make([]kmsg.CreateTopicsResponseTopicConfig, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		c := kmsg.NewCreateTopicsResponseTopicConfig()
		c.Name, c.Value, c.ReadOnly = e.Name, e.Value, e.ReadOnly
		c.Source, c.IsSensitive = int8(e.Source), e.Sensitive
		if given, ok := own[e.Name]; ok && !e.Sensitive {
			c.Value = &given // as it was given: "delete,delete" stays that
		}
		configs = append(configs, c)
	}
	return configs
}
