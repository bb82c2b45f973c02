package stream

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/api/token"
)

const positionVersion = 1

// positionHeadBytes is the size of the fields before the varints: version, scope, topic id.
const positionHeadBytes = 1 + len(token.Scope{}) + 16

// encodePosition returns the id of an event: the version, the scope of the stream, the topic
// id, then as varints the number of the topic's partitions, the time, and for each of the
// stream's partitions its number and the next offset.
func encodePosition(s *token.Sealer, scope token.Scope, p tail.Position) string {
	payload := append([]byte{positionVersion}, scope[:]...)
	payload = append(payload, p.Topic[:]...)
	payload = binary.AppendUvarint(payload, uint64(p.Partitions))
	payload = binary.AppendUvarint(payload, uint64(p.SinceUS))
	for _, partition := range slices.Sorted(maps.Keys(p.Next)) {
		payload = binary.AppendUvarint(payload, uint64(partition))
		payload = binary.AppendUvarint(payload, uint64(p.Next[partition]))
	}
	return s.Seal(token.ForStream, payload)
}

// decodePosition decodes the id of an event. If it is not an id of a stream with this scope,
// problem describes why.
func decodePosition(s *token.Sealer, text string, scope token.Scope) (p tail.Position, problem string) {
	payload, ok := s.Open(token.ForStream, text)
	if !ok || len(payload) < positionHeadBytes || payload[0] != positionVersion {
		return p, "is not the id of an event of this stream"
	}
	if !slices.Equal(payload[1:1+len(scope)], scope[:]) {
		return p, "is of a stream with other selectors"
	}
	p.Topic = [16]byte(payload[1+len(scope) : positionHeadBytes])
	var numbers []uint64
	for remaining := payload[positionHeadBytes:]; len(remaining) > 0; {
		n, size := binary.Uvarint(remaining)
		if size <= 0 {
			return p, "is not the id of an event of this stream"
		}
		numbers, remaining = append(numbers, n), remaining[size:]
	}
	if len(numbers) < 2 || len(numbers)%2 != 0 {
		return p, "is not the id of an event of this stream"
	}
	p.Partitions, p.SinceUS, p.Next = int32(numbers[0]), int64(numbers[1]), map[int32]int64{}
	for pair := range slices.Chunk(numbers[2:], 2) {
		p.Next[int32(pair[0])] = int64(pair[1])
	}
	return p, ""
}
