package group

import (
	"bytes"
	"testing"
)

// isConsumerType says that a record belongs to a consumer group.
func isConsumerType(kind int16) bool {
	switch kind {
	case typeConsumerGroup, typeConsumerPartitions, typeConsumerMember, typeConsumerTarget, typeConsumerPart, typeConsumerCurrent, typeConsumerRegex:
		return true
	}
	return false
}

// TestEncodesConsumersAsKafka decodes and encodes every record of a consumer
// group that Kafka wrote.
func TestEncodesConsumersAsKafka(t *testing.T) {
	seen, deleted := map[int16]int{}, map[int16]int{}
	for _, name := range []string{"many-kinds.log", "transactions.log", "mixed.log"} {
		b := loadFile(t, name)
		for _, r := range b.log.records(t, 0) {
			kind, _ := recordType(r.Key)
			if !isConsumerType(kind) {
				continue
			}
			groupID, member, err := decodeConsumerKey(r.Key)
			if err != nil {
				t.Fatalf("%s, offset %d: %v", name, r.Offset, err)
			}
			change, err := decodeConsumerValue(kind, member, r.Value)
			if err != nil {
				t.Fatalf("%s, offset %d, type %d: %v\n% x", name, r.Offset, kind, err, r.Value)
			}
			if r.Value == nil {
				deleted[kind]++
			} else {
				seen[kind]++
			}
			again := recordOf(groupID, change)
			if !bytes.Equal(again.Key, r.Key) || !bytes.Equal(again.Value, r.Value) || (again.Value == nil) != (r.Value == nil) {
				t.Errorf("%s, offset %d: wrote\n% x\n% x\nKafka\n% x\n% x", name, r.Offset, again.Key, again.Value, r.Key, r.Value)
			}
		}
	}
	for _, kind := range []int16{typeConsumerGroup, typeConsumerMember, typeConsumerTarget, typeConsumerPart, typeConsumerCurrent, typeConsumerRegex} {
		if seen[kind] == 0 || deleted[kind] == 0 {
			t.Errorf("type %d: %d values, %d deletions", kind, seen[kind], deleted[kind])
		}
	}
}
