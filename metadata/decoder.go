package metadata

import (
	"slices"

	"minibroker/logstore"
)

// decoder reads one record after another.
type decoder struct {
	// edit is what each record is applied to before the next one is read. It
	// keeps the lists and strings of records about topics, not the records, unless a
	// transaction is open: so those are read into the same memory again. nil: every
	// record has its own.
	edit *imageEdit

	coder     coder
	topic     TopicRecord
	partition PartitionRecord
	change    PartitionChangeRecord

	// The lists read last: those of most partitions of a node are equal, and
	// images share them.
	replicas    []int32
	directories []logstore.UUID
}

// again is a record of the kind to be read into, nil when it has to be a new one.
func (d *decoder) again(key RecordKey) Record {
	if d.edit == nil || d.edit.transaction != nil {
		return nil
	}
	switch key {
	case KeyTopic:
		d.topic = TopicRecord{}
		return &d.topic
	case KeyPartition:
		d.partition = PartitionRecord{}
		return &d.partition
	case KeyPartitionChange:
		d.change = PartitionChangeRecord{}
		return &d.change
	}
	return nil
}

// share lets a record have lists that were read before, where they are equal.
func (d *decoder) share(r Record) {
	if d.edit == nil {
		return
	}
	switch r := r.(type) {
	case *PartitionRecord:
		shareList(&r.Replicas, &d.replicas)
		shareList(&r.ISR, &d.replicas)
		shareList(&r.Directories, &d.directories)
	case *PartitionChangeRecord:
		shareList(&r.ISR, &d.replicas)
		shareList(&r.Directories, &d.directories)
	}
}

// shareList takes the list before if that is equal, else it is the one before from now on.
func shareList[T comparable](list, before *[]T) {
	switch {
	case len(*list) == 0:
	case slices.Equal(*list, *before):
		*list = *before
	default:
		*before = *list
	}
}
