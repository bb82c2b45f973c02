package postgres

// LogState is the observed state of a topic.
type LogState struct {
	TopicID    [16]byte
	Partitions []LogPartition
}

// LogPartition has the start and end offsets of a partition. ReplacedFrom is the first
// offset whose record is known to have been replaced, -1 if there is none.
type LogPartition struct {
	Start, End, ReplacedFrom int64
}
