package group

// MigrationPolicy says which way groups may change their protocol while they
// have members.
type MigrationPolicy struct {
	Upgrade   bool // classic to consumer
	Downgrade bool // consumer to classic
}

// ConsumerSettings are the settings of one consumer group.
type ConsumerSettings struct {
	SessionTimeoutMs     int32
	HeartbeatIntervalMs  int32
	AssignmentIntervalMs int32 // no target is made sooner after the one before
}
