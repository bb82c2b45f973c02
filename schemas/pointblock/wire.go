package pointblock

import "google.golang.org/protobuf/encoding/protowire"

// Wire tags of points.proto: a field's number and its wire type. Each fits into one byte.
const (
	recordWorkspace  = 1<<3 | byte(protowire.BytesType)
	recordReceivedAt = 2<<3 | byte(protowire.VarintType)
	recordSeries     = 3<<3 | byte(protowire.BytesType)
	recordDeletion   = 4<<3 | byte(protowire.BytesType)
	recordExemplars  = 5<<3 | byte(protowire.BytesType)

	seriesID          = 1<<3 | byte(protowire.Fixed64Type)
	seriesFingerprint = 2<<3 | byte(protowire.BytesType)
	seriesSource      = 3<<3 | byte(protowire.BytesType)
	seriesMetric      = 4<<3 | byte(protowire.BytesType)
	seriesTag         = 5<<3 | byte(protowire.BytesType)
	seriesKind        = 6<<3 | byte(protowire.VarintType)
	seriesDelta       = 7<<3 | byte(protowire.VarintType) // one element, not packed
	seriesDeltas      = 7<<3 | byte(protowire.BytesType)
	seriesValue       = 8<<3 | byte(protowire.Fixed64Type) // one element, not packed
	seriesValues      = 8<<3 | byte(protowire.BytesType)
	seriesText        = 9<<3 | byte(protowire.BytesType)
	seriesDecimal     = 10<<3 | byte(protowire.VarintType) // one element, not packed
	seriesDecimals    = 10<<3 | byte(protowire.BytesType)
	seriesScale       = 11<<3 | byte(protowire.VarintType)
	seriesUnitDelta   = 12<<3 | byte(protowire.VarintType) // one element, not packed
	seriesUnitDeltas  = 12<<3 | byte(protowire.BytesType)
	seriesUnit        = 13<<3 | byte(protowire.VarintType)

	tagKey   = 1<<3 | byte(protowire.BytesType)
	tagValue = 2<<3 | byte(protowire.BytesType)

	deletionSource         = 1<<3 | byte(protowire.BytesType)
	deletionMetric         = 2<<3 | byte(protowire.BytesType)
	deletionFrom           = 3<<3 | byte(protowire.VarintType)
	deletionTo             = 4<<3 | byte(protowire.VarintType)
	deletionWholeSource    = 5<<3 | byte(protowire.VarintType)
	deletionWholeWorkspace = 6<<3 | byte(protowire.VarintType)
)

// uuidBytes is the length of ids and fingerprints on the wire.
const uuidBytes = 16

// appendField appends a length-delimited field.
func appendField(dst []byte, tag byte, value []byte) []byte {
	dst = protowire.AppendVarint(append(dst, tag), uint64(len(value)))
	return append(dst, value...)
}

// nextField decodes the first field of b. It returns the tag byte (0 for unknown fields, which callers
// skip), the payload of a length-delimited field or the bits of a varint or fixed64, and the bytes after
// the field. Fields with a tag and a length of one byte, which the Encoder writes mostly, take the fast
// path.
func nextField(b []byte) (tag byte, payload []byte, bits uint64, rest []byte, err error) {
	if len(b) >= 2 && b[0] >= 1<<3 && b[0] < 0x80 && b[1] < 0x80 {
		end := 2 + int(b[1])
		switch {
		case b[0]&7 == byte(protowire.BytesType) && end <= len(b):
			return b[0], b[2:end:end], 0, b[end:], nil
		case b[0]&7 == byte(protowire.VarintType):
			return b[0], nil, uint64(b[1]), b[2:], nil
		}
	}
	return nextAnyField(b)
}

// nextAnyField implements nextField for any field.
func nextAnyField(b []byte) (tag byte, payload []byte, bits uint64, rest []byte, err error) {
	num, typ, n := protowire.ConsumeTag(b)
	if n < 0 {
		return 0, nil, 0, nil, protowire.ParseError(n)
	}
	b = b[n:]
	if num < 16 {
		tag = byte(num)<<3 | byte(typ)
	}
	switch typ {
	case protowire.BytesType:
		payload, n = protowire.ConsumeBytes(b)
	case protowire.VarintType:
		bits, n = protowire.ConsumeVarint(b)
	case protowire.Fixed64Type:
		bits, n = protowire.ConsumeFixed64(b)
	default:
		tag = 0
		n = protowire.ConsumeFieldValue(num, typ, b)
	}
	if n < 0 {
		return 0, nil, 0, nil, protowire.ParseError(n)
	}
	return tag, payload, bits, b[n:], nil
}
