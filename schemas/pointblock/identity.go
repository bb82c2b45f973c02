package pointblock

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/dchest/siphash"
	"github.com/google/uuid"
)

// Tag is one label of a series.
type Tag struct{ Key, Value string }

// Identity identifies a series: two points belong to the same series if and only if all fields are
// equal. Tags are sorted by key (bytewise) and their keys are unique.
type Identity struct {
	Workspace uuid.UUID
	Source    uuid.UUID
	Metric    string
	Tags      []Tag
	Kind      Kind
}

// Fingerprint is a keyed 128-bit hash of an identity. Each installation has its own key, so that
// outsiders cannot construct colliding series.
type Fingerprint [16]byte

// SeriesID returns an id derived from the fingerprint: its first eight bytes, little-endian. The
// registry assigns the actual id of a series, using the lower bits of this one.
func (f Fingerprint) SeriesID() uint64 { return binary.LittleEndian.Uint64(f[:8]) }

// String returns the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// identityScratch is the size of the stack buffer for the bytes of a typical identity.
const identityScratch = 512

// Fingerprint returns the SipHash-2-4-128 of the identity.
func (id *Identity) Fingerprint(key *[16]byte) Fingerprint {
	var scratch [identityScratch]byte
	return FingerprintOf(key, id.AppendCanonical(scratch[:0]))
}

// FingerprintOf returns the fingerprint of an identity's canonical bytes, see AppendCanonical.
func FingerprintOf(key *[16]byte, canonical []byte) Fingerprint {
	low, high := siphash.Hash128(binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:]), canonical)
	var f Fingerprint
	binary.LittleEndian.PutUint64(f[:8], low)
	binary.LittleEndian.PutUint64(f[8:], high)
	return f
}

// AppendCanonical appends the bytes that are hashed for the fingerprint: workspace and source (16 bytes
// each), the kind (one byte), and then the metric and each tag's key and value, each preceded by its
// length as a varint. Because of the lengths, different identities have different bytes for any
// content. The number of tags is not included, because the bytes end after the tags.
func (id *Identity) AppendCanonical(dst []byte) []byte {
	dst = append(dst, id.Workspace[:]...)
	dst = append(dst, id.Source[:]...)
	dst = append(dst, byte(id.Kind))
	dst = appendString(dst, id.Metric)
	for i := range id.Tags {
		dst = appendString(dst, id.Tags[i].Key)
		dst = appendString(dst, id.Tags[i].Value)
	}
	return dst
}

// appendString appends a string preceded by its length in bytes as a varint, which is also protobuf's
// encoding.
func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
