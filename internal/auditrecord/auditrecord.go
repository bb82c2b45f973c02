// Package auditrecord is the record of topic audit: what is known of one use of a
// key. It is written by the API and read by the audit consumer; in between it is in
// the API's spool and in Kafka, byte by byte the same.
package auditrecord

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/platform/apikey"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
)

// Bounds of what callers choose.
const (
	MaxUserAgent = 256 // bytes
	MaxMethod    = 16
)

// maxUS is the latest time of a record, the year 2200: ClickHouse stores no later ones.
const maxUS = 7_258_118_400_000_000

// NoRoute is the route of requests that no route answered.
const NoRoute = "none"

// Record is one use of a key, or a count of requests without a known one.
type Record struct {
	RequestID string
	At        time.Time // when the request came, to the microsecond
	// Final says that the answer is over: the record replaces that of its beginning.
	Final     bool
	Key       uuid.UUID // zero: no known key
	Workspace uuid.UUID // zero: none that the key opens
	Method    string
	Route     string // the pattern
	Status    int    // 0: cut off before an answer began
	IP        netip.Addr
	UserAgent string
	Duration  time.Duration
	BytesIn   int64
	BytesOut  int64
	Requests  uint32 // at least 1
}

// Encode makes the bytes of a record. What callers chose in it is made harmless:
// bounded, of valid characters, and without the text of a key.
func Encode(r *Record) ([]byte, error) {
	out := eventsv1.AuditRecord{
		RequestId: r.RequestID, AtUs: r.At.UnixMicro(), Final: r.Final, KeyId: idBytes(r.Key),
		WorkspaceId: idBytes(r.Workspace),
		Method:      Clean(r.Method, MaxMethod), Route: r.Route, Status: uint32(r.Status), Ip: r.IP.AsSlice(),
		UserAgent: Clean(r.UserAgent, MaxUserAgent), DurationUs: r.Duration.Microseconds(), BytesIn: r.BytesIn,
		BytesOut: r.BytesOut,
		Requests: max(r.Requests, 1),
	}
	bytes, err := proto.Marshal(&out)
	if err != nil {
		return nil, fmt.Errorf("encoding an audit record: %w", err)
	}
	return bytes, nil
}

func idBytes(id uuid.UUID) []byte {
	if id == uuid.Nil {
		return nil
	}
	return id[:]
}

// Clean makes a text that a caller chose one that may be kept: of at most so many bytes,
// of valid characters, and without the text of a key.
func Clean(text string, most int) string {
	if !strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r)
	}) && len(text) <= most && !apikey.Within(text) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	text = apikey.Redact(text) // before it is cut: half a key is no key that can be seen
	for len(text) > most {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// Decode reads a record.
func Decode(bytes []byte) (Record, error) {
	var in eventsv1.AuditRecord
	if err := proto.Unmarshal(bytes, &in); err != nil {
		return Record{}, fmt.Errorf("decoding an audit record: %w", err)
	}
	if in.GetRequestId() == "" {
		return Record{}, errors.New("decoding an audit record: it has no request id")
	}
	if us := in.GetAtUs(); us < 0 || us > maxUS {
		return Record{}, errors.New("decoding an audit record: its time cannot be")
	}
	if us := in.GetDurationUs(); us < 0 || us > math.MaxInt64/int64(time.Microsecond) {
		return Record{}, errors.New("decoding an audit record: its duration cannot be")
	}
	key, err := idOf(in.GetKeyId())
	if err != nil {
		return Record{}, err
	}
	workspace, err := idOf(in.GetWorkspaceId())
	if err != nil {
		return Record{}, err
	}
	ip, _ := netip.AddrFromSlice(in.GetIp()) // none: not known
	return Record{
		RequestID: in.GetRequestId(), At: time.UnixMicro(in.GetAtUs()).UTC(), Final: in.GetFinal(), Key: key,
		Workspace: workspace,
		Method:    in.GetMethod(), Route: in.GetRoute(), Status: int(in.GetStatus()), IP: ip, UserAgent: in.GetUserAgent(),
		Duration: time.Duration(in.GetDurationUs()) * time.Microsecond, BytesIn: in.GetBytesIn(), BytesOut: in.GetBytesOut(),
		Requests: max(in.GetRequests(), 1),
	}, nil
}

func idOf(bytes []byte) (uuid.UUID, error) {
	if len(bytes) == 0 {
		return uuid.Nil, nil
	}
	id, err := uuid.FromBytes(bytes)
	if err != nil {
		return uuid.Nil, fmt.Errorf("decoding an audit record: %w", err)
	}
	return id, nil
}
