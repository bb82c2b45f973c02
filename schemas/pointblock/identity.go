package pointblock

import (
	"encoding/binary"
	"encoding/hex"

	"github.com/dchest/siphash"
	"github.com/google/uuid"
)

// Tag is one label of a series.
type Tag struct{ Key, Value string }

// Identity is what makes a series: two points belong to the same one exactly
// when all of it is equal. Tags are sorted by key (bytewise) and their keys are
// unique.
type Identity struct {
	Workspace uuid.UUID
	Source    uuid.UUID
	Metric    string
	Tags      []Tag
	Kind      Kind
}

// Fingerprint is a keyed 128-bit hash of an identity. The key is the
// installation's own, so that nobody outside can make two series collide.
type Fingerprint [16]byte

// SeriesID is an id made of the fingerprint alone, its first eight bytes,
// little-endian. Which id a series has is for the registry to decide, which goes by
// the lower bits of it.
func (f Fingerprint) SeriesID() uint64 { return binary.LittleEndian.Uint64(f[:8]) }

// String returns the fingerprint in hexadecimal.
func (f Fingerprint) String() string { return hex.EncodeToString(f[:]) }

// identityScratch is room on the stack for the bytes of an ordinary identity.
const identityScratch = 512

// Fingerprint hashes the identity with SipHash-2-4-128.
func (id *Identity) Fingerprint(key *[16]byte) Fingerprint {
	var scratch [identityScratch]byte
	return FingerprintOf(key, id.AppendCanonical(scratch[:0]))
}

// FingerprintOf hashes an identity's canonical bytes, see AppendCanonical.
func FingerprintOf(key *[16]byte, canonical []byte) Fingerprint {
	low, high := siphash.Hash128(binary.LittleEndian.Uint64(key[:8]), binary.LittleEndian.Uint64(key[8:]), canonical)
	var f Fingerprint
	binary.LittleEndian.PutUint64(f[:8], low)
	binary.LittleEndian.PutUint64(f[8:], high)
	return f
}

// AppendCanonical appends the bytes that the fingerprint is taken of: workspace
// and source (16 bytes each), the kind (one byte), and then the metric and each
// tag's key and value, every one after its length as a varint. The lengths keep
// different identities apart whatever characters they contain; the number of
// tags needs no saying, because the bytes end there.
func (id *Identity) AppendCanonical(dst []byte) []byte {
	dst = append(dst, id.Workspace[:]...)
	dst = append(dst, id.Source[:]...)
	dst = append(dst, byte(id.Kind))
	dst = appendText(dst, id.Metric)
	for i := range id.Tags {
		dst = appendText(dst, id.Tags[i].Key)
		dst = appendText(dst, id.Tags[i].Value)
	}
	return dst
}

// appendText appends a text after its length in bytes as a varint, which is also
// how protobuf writes one.
func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}
