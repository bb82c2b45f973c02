package stream

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/livegraph/livegraph/api/tail"
	"github.com/livegraph/livegraph/api/token"
)

const positionVersion = 1

// positionHead is the length of what is in front of the partitions: version, scope,
// topic id.
const positionHead = 1 + len(token.Scope{}) + 16

// encodePosition returns the id of an event: a version, what the stream selects, the
// topic's id, then as varints the number of its partitions, the time, and for each of
// the stream's partitions its number and the next offset.
func encodePosition(s *token.Sealer, of token.Scope, p tail.Position) string {
	payload := append([]byte{positionVersion}, of[:]...)
	payload = append(payload, p.Topic[:]...)
	payload = binary.AppendUvarint(payload, uint64(p.Partitions))
	payload = binary.AppendUvarint(payload, uint64(p.SinceUS))
	for _, partition := range slices.Sorted(maps.Keys(p.Next)) {
		payload = binary.AppendUvarint(payload, uint64(partition))
		payload = binary.AppendUvarint(payload, uint64(p.Next[partition]))
	}
	return s.Seal(token.ForStream, payload)
}

// decodePosition reads the id of an event, and tells what is wrong with one that is
// not of such a stream.
func decodePosition(s *token.Sealer, text string, of token.Scope) (p tail.Position, problem string) {
	payload, ok := s.Open(token.ForStream, text)
	if !ok || len(payload) < positionHead || payload[0] != positionVersion {
		return p, "is not the id of an event of this stream"
	}
	if !slices.Equal(payload[1:1+len(of)], of[:]) {
		return p, "is of a stream with other selectors"
	}
	p.Topic = [16]byte(payload[1+len(of) : positionHead])
	var numbers []uint64
	for rest := payload[positionHead:]; len(rest) > 0; {
		n, size := binary.Uvarint(rest)
		if size <= 0 {
			return p, "is not the id of an event of this stream"
		}
		numbers, rest = append(numbers, n), rest[size:]
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
