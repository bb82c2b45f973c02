package pipelineadmin

import (
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/livegraph/livegraph/internal/auditrecord"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/internal/platform/plural"
	eventsv1 "github.com/livegraph/livegraph/schemas/events/v1"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/kafka"
)

// maxShownPoints is the maximum number of points of each series, and maxShownSeries the maximum
// number of series, that are shown of a record.
const (
	maxShownPoints = 5
	maxShownSeries = 100
)

// content is the decoded content of a record. One of the fields is set.
type content struct {
	points  *pointblock.Record   // of topic points
	request *graphrecord.Request // of topic graph.commands
	event   *eventsv1.GraphEvent // of topic graph.events
	audit   *auditrecord.Record  // of topic audit
	err     error                // decoding failed
}

// contentOf decodes the value of a record of a topic or of its dead-letter topic.
func contentOf(label string, value []byte) (c content) {
	origin, _ := kafka.IsDeadLetters(label)
	switch origin {
	case kafka.TopicPoints:
		c.points = &pointblock.Record{}
		c.err = pointblock.Decode(value, c.points)
	case kafka.TopicCommands:
		c.request, c.err = graphrecord.DecodeRequest(value)
	case kafka.TopicEvents:
		c.event = &eventsv1.GraphEvent{}
		c.err = proto.Unmarshal(value, c.event)
	case kafka.TopicAudit:
		record, err := auditrecord.Decode(value)
		c.audit, c.err = &record, err
	default:
		c.err = fmt.Errorf("records of %s have no known format", label)
	}
	return c
}

// workspace returns the workspace of the record, or nil if the record cannot be read.
func (c *content) workspace() *uuid.UUID {
	switch {
	case c.err != nil:
		return nil
	case c.points != nil:
		return &c.points.Workspace
	case c.request != nil:
		return &c.request.Workspace
	case c.audit != nil:
		return &c.audit.Workspace
	}
	id, err := uuid.FromBytes(c.event.GetWorkspaceId())
	if err != nil {
		return nil
	}
	return &id
}

// summary describes the content of the record in a few words.
func (c *content) summary() string {
	switch {
	case c.err != nil:
		return "unreadable"
	case c.points != nil && len(c.points.Deletions) > 0:
		return plural.Count(len(c.points.Deletions), "deletion")
	case c.points != nil:
		points := 0
		for i := range c.points.Spans {
			points += c.points.Spans[i].Count
		}
		return plural.Count(points, "point") + " of " + plural.CountOf(len(c.points.Spans), "series", "series")
	case c.request != nil && c.request.Mode == graphrecord.Single:
		return typeOf(c.request, 0)
	case c.request != nil:
		return "batch of " + plural.Count(len(c.request.Actions), "command")
	case c.audit != nil:
		return fmt.Sprintf("%s %s, %d", c.audit.Method, c.audit.Route, c.audit.Status)
	}
	return fmt.Sprintf("%s, sequence %d", c.event.GetChange().GetType(), c.event.GetChange().GetSequence())
}

func typeOf(r *graphrecord.Request, i int) string {
	if r.Actions[i].Payload == nil {
		return "unknown command"
	}
	return string(r.Actions[i].Payload.Type())
}

// Decoded is the content of a record, as shown to an operator.
type Decoded struct {
	ReceivedAt  *time.Time          `json:"receivedAt,omitempty"`
	Series      []DecodedSeries     `json:"series,omitempty"`
	MoreSeries  int                 `json:"moreSeries,omitempty"` // number of series not shown
	Deletions   []DecodedDeletion   `json:"deletions,omitempty"`
	Command     *DecodedCommand     `json:"command,omitempty"`
	Event       jsonText            `json:"event,omitzero"`
	AuditRecord *DecodedAuditRecord `json:"use,omitempty"`
	Problem     string              `json:"problem,omitempty"` // why it cannot be read
}

// DecodedSeries is one series of a record of points, with its first points.
type DecodedSeries struct {
	SourceID uuid.UUID         `json:"sourceId"`
	Metric   string            `json:"metric"`
	Tags     map[string]string `json:"tags"`
	Kind     string            `json:"kind"`
	Count    int               `json:"count"`
	From     time.Time         `json:"from"`
	To       time.Time         `json:"to"`
	Points   [][2]any          `json:"points"` // time and value; the first of the series
}

// DecodedDeletion is one deletion of points.
type DecodedDeletion struct {
	SourceID    uuid.UUID  `json:"sourceId"`
	Metric      *string    `json:"metric,omitempty"`
	From        *time.Time `json:"from,omitempty"`
	To          *time.Time `json:"to,omitempty"`
	WholeSource bool       `json:"wholeSource,omitempty"`
}

// DecodedCommand is a record of topic graph.commands.
type DecodedCommand struct {
	ID         uuid.UUID       `json:"id"` // of the command or the batch
	Mode       string          `json:"mode"`
	ActorID    uuid.UUID       `json:"actorId"`
	Scopes     []string        `json:"scopes"`
	AcceptedAt time.Time       `json:"acceptedAt"`
	Commands   []DecodedAction `json:"commands"`
}

// DecodedAction is one command of a DecodedCommand.
type DecodedAction struct {
	Type            string `json:"type"`
	ExpectedVersion *int64 `json:"expectedVersion,omitempty"`
	Payload         any    `json:"payload"` // as in the API
}

// DecodedAuditRecord is a record of topic audit.
type DecodedAuditRecord struct {
	RequestID string     `json:"requestId"`
	At        time.Time  `json:"at"`
	KeyID     *uuid.UUID `json:"keyId"`
	Method    string     `json:"method"`
	Route     string     `json:"route"`
	Status    int        `json:"status"`
}

func decodeAuditRecord(r *auditrecord.Record) *DecodedAuditRecord {
	decoded := &DecodedAuditRecord{RequestID: r.RequestID, At: r.At, Method: r.Method, Route: r.Route, Status: r.Status}
	if r.Key != uuid.Nil {
		decoded.KeyID = &r.Key
	}
	return decoded
}

// jsonText is JSON text of a record. It is encoded as a string if it is not valid JSON.
type jsonText []byte

// MarshalJSON implements [json.Marshaler].
func (t jsonText) MarshalJSON() ([]byte, error) {
	if !jsontext.Value(t).IsValid() {
		return jsontext.AppendQuote(nil, strings.ToValidUTF8(string(t), "\uFFFD"))
	}
	return t, nil
}

// decode returns the content for an operator.
func (c *content) decode() Decoded {
	var d Decoded
	switch {
	case c.err != nil:
		d.Problem = c.err.Error()
	case c.points != nil:
		at := timeOf(c.points.ReceivedAtUS)
		d.ReceivedAt = &at
		d.MoreSeries = max(len(c.points.Spans)-maxShownSeries, 0)
		for i := range c.points.Spans[:len(c.points.Spans)-d.MoreSeries] {
			d.Series = append(d.Series, decodeSpan(&c.points.Spans[i]))
		}
		for i := range c.points.Deletions {
			d.Deletions = append(d.Deletions, decodeDeletion(&c.points.Deletions[i]))
		}
	case c.request != nil:
		d.Command = decodeRequest(c.request)
	case c.audit != nil:
		d.AuditRecord = decodeAuditRecord(c.audit)
	default:
		text, err := protojson.Marshal(c.event)
		if err != nil {
			d.Problem = err.Error()
			break
		}
		d.Event = text
	}
	return d
}

// The earliest and latest times that JSON can represent, in microseconds.
var (
	minTimeUS = time.Date(0, time.January, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	maxTimeUS = time.Date(9999, time.December, 31, 23, 59, 59, 999_999_000, time.UTC).UnixMicro()
)

// timeOf converts a timestamp of a record, which may be any number, to the nearest time that JSON
// can represent.
func timeOf(us int64) time.Time { return time.UnixMicro(min(max(us, minTimeUS), maxTimeUS)).UTC() }

func decodeSpan(s *pointblock.Span) DecodedSeries {
	d := DecodedSeries{
		SourceID: s.Source, Metric: string(s.Metric()), Tags: map[string]string{}, Kind: "number", Count: s.Count,
		From: timeOf(s.FirstUS), To: timeOf(s.LastUS),
	}
	for _, tag := range s.Tags() {
		d.Tags[tag.Key] = tag.Value
	}
	times := s.AppendTimestamps(nil)
	values := make([]any, 0, len(times))
	if s.Kind != pointblock.KindNumber {
		if d.Kind = "string"; s.Kind == pointblock.KindSpecial {
			d.Kind = "special"
		}
		for _, v := range s.AppendStrings(nil) {
			values = append(values, v)
		}
	} else {
		for _, v := range s.AppendValues(nil) {
			values = append(values, v)
		}
	}
	for i, us := range times[:min(len(times), maxShownPoints)] {
		d.Points = append(d.Points, [2]any{timeOf(us), values[i]})
	}
	return d
}

func decodeDeletion(d *pointblock.Deletion) DecodedDeletion {
	shown := DecodedDeletion{SourceID: d.Source, WholeSource: d.WholeSource}
	if d.HasMetric {
		shown.Metric = &d.Metric
	}
	if d.HasFrom {
		at := timeOf(d.FromUS)
		shown.From = &at
	}
	if d.HasTo {
		at := timeOf(d.ToUS)
		shown.To = &at
	}
	return shown
}

func decodeRequest(r *graphrecord.Request) *DecodedCommand {
	modes := map[graphrecord.Mode]string{
		graphrecord.Single: "single", graphrecord.Atomic: "atomic", graphrecord.Separate: "separate",
	}
	d := &DecodedCommand{
		ID: r.ID, Mode: modes[r.Mode], ActorID: r.Actor, Scopes: r.Scopes, AcceptedAt: timeOf(r.AcceptedAt.UnixMicro()),
	}
	for i, action := range r.Actions {
		d.Commands = append(d.Commands, DecodedAction{
			Type: typeOf(r, i), ExpectedVersion: action.ExpectedVersion, Payload: payloadFields(action.Payload),
		})
	}
	return d
}
