package main

import "time"

// sizes say how much each case does.
type sizes struct {
	starts                     int           // on an empty directory, of which the median counts
	restartParts, restartMiB   int           // what a broker starts again with
	settle, idle               time.Duration // before, and while idle processor time is counted
	idleParts, idleConsumers   int
	produceMiB, packedMiB      int // sent by one producer: as it is, compressed
	manyParts                  int
	consumeMiB, fanMiB         int // read by one consumer, by each of several
	syncs, perSecond           int
	endToEnd                   time.Duration
	readers                    int // of the fan-out
	connections, fetchers      int
	busy                       time.Duration
	topics                     []int // altogether, one partition each
	parts                      int
	keys                       int // of the compacted log, each written twice
	transactions               time.Duration
	members, polls, idleGroups int
	limitMiB                   int
}

func fullSizes() sizes {
	return sizes{
		starts: 5, restartParts: 1000, restartMiB: 1024, settle: 5 * time.Second, idle: 10 * time.Second, idleParts: 1000, idleConsumers: 50,
		produceMiB: 512, packedMiB: 256, manyParts: 1000, consumeMiB: 512, fanMiB: 256, syncs: 10_000, perSecond: 1000, endToEnd: 15 * time.Second,
		readers: 16, connections: 1000, fetchers: 64, busy: 5 * time.Second, topics: []int{1000, 5000}, parts: 10_000, keys: 1_000_000,
		transactions: 10 * time.Second, members: 50, polls: 5, idleGroups: 1000, limitMiB: 512,
	}
}

// quickSizes show that everything works. The figures mean nothing.
func quickSizes() sizes {
	return sizes{
		starts: 1, restartParts: 20, restartMiB: 4, settle: 50 * time.Millisecond, idle: 100 * time.Millisecond, idleParts: 20, idleConsumers: 5,
		produceMiB: 4, packedMiB: 2, manyParts: 20, consumeMiB: 4, fanMiB: 2, syncs: 100, perSecond: 200, endToEnd: 500 * time.Millisecond,
		readers: 2, connections: 20, fetchers: 4, busy: 100 * time.Millisecond, topics: []int{20, 40}, parts: 50, keys: 8000,
		transactions: 200 * time.Millisecond, members: 4, polls: 2, idleGroups: 10, limitMiB: 16,
	}
}
