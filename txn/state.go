package txn

// State of a transactional id. The numbers are those of the log.
type State int8

// The states. Dead and PrepareEpochFence are never written: the first is an id
// that is being removed, the second was Kafka's name for a step on the way to
// an abort and is only known here to name it.
const (
	Empty State = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
	Dead
	PrepareEpochFence
)

var stateNames = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence"}

// String is Kafka's name of the state.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "Unknown"
	}
	return stateNames[s]
}

// ParseState finds a state by Kafka's name; the case counts.
func ParseState(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return 0, false
}

// prepared says whether the transaction is decided and its markers are due.
func (s State) prepared() bool { return s == PrepareCommit || s == PrepareAbort }

// idle says whether no transaction is open or being completed.
func (s State) idle() bool { return s == Empty || s == CompleteCommit || s == CompleteAbort }

// Version is the transaction protocol that a producer follows.
type Version int16

const (
	// Version0 is that of producers which add partitions themselves and keep their
	// epoch; levels 0 and 1 of the feature transaction.version are the same here.
	Version0 Version = 0
	// Version2 raises the producer's epoch with the end of each transaction.
	Version2 Version = 2
)

// bumps says whether each end raises the epoch.
func (v Version) bumps() bool { return v >= Version2 }
