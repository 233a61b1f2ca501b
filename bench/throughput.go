package main

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
)

// produce is what one producer gets into a broker. Everything is read back, since an acknowledgement proves little.
func produce(t *trial) error {
	i, err := t.broker()
	if err != nil {
		return err
	}
	if _, err := t.written(i, newTraffic("warm", 1, t.sizes.produceMiB/8, 1024, kgo.NoCompression())); err != nil {
		return err
	}
	for _, shape := range []struct {
		what             string
		partitions, size int
		codec            kgo.CompressionCodec
		mib              int
	}{
		{"1 partition", 1, 1024, kgo.NoCompression(), t.sizes.produceMiB},
		{"6 partitions", 6, 1024, kgo.NoCompression(), t.sizes.produceMiB},
		{fmt.Sprintf("%d partitions", t.sizes.manyParts), t.sizes.manyParts, 1024, kgo.NoCompression(), t.sizes.packedMiB},
		{"1 partition, 100 B", 1, 100, kgo.NoCompression(), t.sizes.packedMiB},
		{"1 partition, lz4", 1, 1024, kgo.Lz4Compression(), t.sizes.packedMiB},
		{"1 partition, zstd", 1, 1024, kgo.ZstdCompression(), t.sizes.packedMiB},
	} {
		f := newTraffic(fmt.Sprintf("produce-%d-%d-%d", shape.partitions, shape.size, len(t.figures)), shape.partitions, shape.mib, shape.size, shape.codec)
		s, err := t.written(i, f)
		if err != nil {
			return fmt.Errorf("%s: %w", shape.what, err)
		}
		t.rate(shape.what, s, f.mib())
		deleteTopic(t.ctx, i.addr(), f.topic)
	}
	return nil
}

// written creates a topic, measures the writing, and reads all of it.
func (t *trial) written(i *instance, f traffic) (span, error) {
	if err := createTopic(t.ctx, i.addr(), f.topic, f.partitions, nil); err != nil {
		return span{}, err
	}
	s, err := i.measure(func() error { return f.write(t.ctx, i.addr()) })
	if err != nil {
		return span{}, err
	}
	return s, f.read(t.ctx, i.addr(), f.records)
}

// consume is what consumers, which are in no group and each read by themselves, get out of the page cache.
func consume(t *trial) error {
	i, err := t.broker()
	if err != nil {
		return err
	}
	for _, shape := range []struct {
		what string
		f    traffic
		read []int // at once
	}{
		{"", newTraffic("consume", 6, t.sizes.consumeMiB, 1024, kgo.NoCompression()), []int{1, 4, 16}},
		{", 100 B", newTraffic("consume-100", 6, t.sizes.packedMiB, 100, kgo.NoCompression()), []int{1}},
		{", lz4", newTraffic("consume-lz4", 6, t.sizes.packedMiB, 1024, kgo.Lz4Compression()), []int{1}},
	} {
		if _, err := t.written(i, shape.f); err != nil {
			return err
		}
		for _, readers := range shape.read {
			f := shape.f
			records := f.records
			what := fmt.Sprintf("%d consumers%s", readers, shape.what)
			if readers > 1 {
				records = min(records, t.sizes.fanMiB<<20/f.values.size)
			} else {
				what = "1 consumer" + shape.what
			}
			s, err := i.measure(func() error { return together(readers, func(int) error { return f.read(t.ctx, i.addr(), records) }) })
			if err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			t.rate(what, s, float64(readers)*float64(records)*float64(f.values.size)/(1<<20))
		}
	}
	return nil
}

// brokerCodecs is what a broker gets through that compresses what producers send as it is.
func brokerCodecs(t *trial) error {
	i, err := t.broker()
	if err != nil {
		return err
	}
	for _, codec := range []string{"lz4", "snappy", "zstd", "gzip"} {
		f := newTraffic("codec-"+codec, 1, t.sizes.packedMiB, 1024, kgo.NoCompression())
		if err := createTopic(t.ctx, i.addr(), f.topic, 1, map[string]string{"compression.type": codec}); err != nil {
			return err
		}
		s, err := i.measure(func() error { return f.write(t.ctx, i.addr()) })
		if err != nil {
			return fmt.Errorf("%s: %w", codec, err)
		}
		if err := t.compressed(i, f); err != nil {
			return err
		}
		t.rate(codec, s, f.mib())
		deleteTopic(t.ctx, i.addr(), f.topic)
	}
	return nil
}

// compressed reads all, after a look at whether the broker keeps batches compressed.
func (t *trial) compressed(i *instance, f traffic) error {
	cl, err := newClient(i.addr(), kgo.ConsumeTopics(f.topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		return err
	}
	defer cl.Close()
	fetches := cl.PollRecords(t.ctx, 1)
	if err := fetches.Err(); err != nil {
		return err
	}
	if fetches.Records()[0].Attrs.CompressionType() == 0 {
		return errNone("stores what the producer sent, whatever compression.type says")
	}
	return f.read(t.ctx, i.addr(), f.records)
}
