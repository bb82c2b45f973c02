package postgres

// LogState is what the log says of a topic.
type LogState struct {
	TopicID    [16]byte
	Partitions []LogPartition
}

// LogPartition is where a partition starts and ends. ReplacedFrom is the offset
// from which on its records are known to have been replaced, -1 if none are.
type LogPartition struct {
	Start, End, ReplacedFrom int64
}
