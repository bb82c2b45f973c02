// Package auditrecord defines the record of topic audit: a request with an API key. The API writes it
// and the audit consumer reads it. The spool of the API and Kafka contain the same bytes.
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

// Limits of text that callers choose.
const (
	MaxUserAgent = 256 // bytes
	MaxMethod    = 16
)

// maxUS is the latest time of a record, the year 2200. ClickHouse cannot store later ones.
const maxUS = 7_258_118_400_000_000

// NoRoute is the route of requests that match no route.
const NoRoute = "none"

// Record is one request with an API key, or a count of requests without a valid key.
type Record struct {
	RequestID string
	At        time.Time // time of the request, to the microsecond
	// Final reports whether the response is complete. A final record replaces the one that was
	// written when the request started.
	Final     bool
	Key       uuid.UUID // zero: no valid key
	Workspace uuid.UUID // zero: no workspace, or none that the key has access to
	Method    string
	Route     string // the pattern
	Status    int    // 0: interrupted before the response began
	IP        netip.Addr
	UserAgent string
	Duration  time.Duration
	BytesIn   int64
	BytesOut  int64
	Requests  uint32 // at least 1
}

// Encode returns the encoded record. Text that callers chose is sanitized: its length is limited, and
// it contains only valid characters and no API keys.
func Encode(r *Record) ([]byte, error) {
	out := eventsv1.AuditRecord{
		RequestId: r.RequestID, AtUs: r.At.UnixMicro(), Final: r.Final, KeyId: idBytes(r.Key),
		WorkspaceId: idBytes(r.Workspace),
		Method:      Sanitize(r.Method, MaxMethod), Route: r.Route, Status: uint32(r.Status), Ip: r.IP.AsSlice(),
		UserAgent: Sanitize(r.UserAgent, MaxUserAgent), DurationUs: r.Duration.Microseconds(), BytesIn: r.BytesIn,
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

// Sanitize sanitizes text that a caller chose. The result has at most limit bytes, and contains only
// printable characters and no API keys.
func Sanitize(text string, limit int) string {
	if !strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || !unicode.IsPrint(r)
	}) && len(text) <= limit && !apikey.MayContainKey(text) {
		return text
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, strings.ToValidUTF8(text, string(unicode.ReplacementChar)))
	text = apikey.Redact(text) // before truncation, because a truncated key is not recognized
	for len(text) > limit {
		_, size := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-size]
	}
	return text
}

// Decode decodes a record.
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
	ip, _ := netip.AddrFromSlice(in.GetIp()) // invalid: unknown
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
