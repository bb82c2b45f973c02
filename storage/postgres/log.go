package postgres

import "context"

// LogState is the observed state of a topic.
type LogState struct {
	TopicID    [16]byte
	Partitions []LogPartition
	// Confirm observes the topic again, and fails unless all brokers agree about it. It is called before
	// recorded offsets are set back, because a single broker may have an old state. nil: there is no doubt.
	Confirm func(context.Context) (LogState, error)
}

// LogPartition has the start and end offsets of a partition. ReplacedFrom is the first
// offset whose record is known to have been replaced, -1 if there is none.
type LogPartition struct {
	Start, End, ReplacedFrom int64
}
