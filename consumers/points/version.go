package points

import (
	"fmt"
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/storage/postgres/registry"
)

// versionOf returns the version of a record's points. A redriven record carries its
// original one in a header.
func versionOf(r *kgo.Record, topicID [16]byte, generations registry.Generations) (uint64, error) {
	if original, err := originalVersion(r); original > 0 || err != nil {
		return original, err
	}
	generation, ok := generations.At(topicID, r.Partition, r.Offset, kafka.RouteOf(r))
	if !ok {
		return 0, fmt.Errorf("partition %d has no generation at offset %d", r.Partition, r.Offset)
	}
	return pointblock.Version(generation, r.Offset), nil
}

// originalVersion returns the version in a redriven record's header, 0 without one.
func originalVersion(r *kgo.Record) (uint64, error) {
	header := kafka.Header(r, kafka.HeaderVersion)
	if header == nil {
		return 0, nil
	}
	v, err := strconv.ParseUint(string(header), 10, 63)
	if err != nil || v == 0 {
		return 0, fmt.Errorf("header %s is no version: %q", kafka.HeaderVersion, header)
	}
	return v, nil
}
