package query

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

const (
	// maxTagColumns bounds the columns of a CSV answer.
	maxTagColumns = 256
	// rowsBuffer is how many bytes of rows are buffered before they are sent.
	rowsBuffer = 32 << 10
	// identityBytes is the approximate size of the identity of a series.
	identityBytes = 192
)

// writeRows responds with one row for each point. The link to the next page is in the header
// Link, because there is no envelope.
func (r *run) writeRows(w http.ResponseWriter, request *http.Request) error {
	format, names := r.format, r.q.columns()[1:]
	r.writeRowsHeader(w, request)
	out := format.header(make([]byte, 0, rowsBuffer+rowsBuffer/4), names)
	for merged := newMerge(r.points, r.q.descending); merged.next(); {
		points := r.points[merged.group]
		out = format.row(out, points.TS[merged.row], r.q.epoch, r.identities.at(merged.group))
		for i, column := range points.Columns {
			out = format.cell(out, names[i], column, merged.row)
		}
		if out = format.end(out); len(out) >= rowsBuffer {
			if _, err := w.Write(out); err != nil {
				return nil //nolint:nilerr // the client is gone: nothing to do
			}
			out = out[:0]
		}
	}
	_, _ = w.Write(out) // the client is gone: nothing to do
	return nil
}

// writeRowsHeader writes the header of an answer without an envelope.
func (r *run) writeRowsHeader(w http.ResponseWriter, request *http.Request) {
	if r.meta.Interval != "" {
		w.Header().Set("X-Livegraph-Interval", r.meta.Interval)
	}
	r.q.format.WriteHeader(w, r.nextPage(request.URL))
}

// newRowFormat returns how the rows of the answer are written.
func (r *run) newRowFormat() (rowFormat, error) {
	if r.q.format.Name == columns.NDJSON {
		return ndjsonFormat{clock: &value.Clock{}}, nil
	}
	tags, err := tagColumns(r.groups)
	return csvFormat{tags: tags, clock: &value.Clock{}}, err
}

// nextPage returns the URL of the next page, empty at the end.
func (r *run) nextPage(current *url.URL) string {
	values := current.Query()
	switch {
	case r.meta.NextCursor != nil:
		values.Set("cursor", *r.meta.NextCursor)
	case r.meta.HasMore:
		values.Set("offset", strconv.Itoa(r.q.offset+len(r.groups)))
	default:
		return ""
	}
	return current.EscapedPath() + "?" + values.Encode()
}

// rowFormat writes rows: row, then cell for each column, then end.
type rowFormat interface {
	header(dst []byte, names []string) []byte
	identity(dst []byte, g *group) []byte // the columns that all rows of a group share
	row(dst []byte, us int64, epoch string, identity []byte) []byte
	cell(dst []byte, name string, column timeseries.Column, i int) []byte
	end(dst []byte) []byte
}

// identities are the encoded identities of the groups.
type identities struct {
	text []byte
	ends []int // end of the identity in text, by group
}

func newIdentities(format rowFormat, groups []*group) *identities {
	ids := &identities{text: make([]byte, 0, len(groups)*identityBytes), ends: make([]int, len(groups))}
	for i, g := range groups {
		ids.text = format.identity(ids.text, g)
		ids.ends[i] = len(ids.text)
	}
	return ids
}

func (ids *identities) at(group int) []byte {
	from := 0
	if group > 0 {
		from = ids.ends[group-1]
	}
	return ids.text[from:ids.ends[group]]
}

// ndjsonFormat has an object a line.
type ndjsonFormat struct{ clock *value.Clock }

func (ndjsonFormat) header(dst []byte, _ []string) []byte { return dst }

func (ndjsonFormat) identity(dst []byte, g *group) []byte {
	dst = append(dst, `,"sourceId":`...)
	if g.source == nil {
		dst = append(dst, "null"...)
	} else {
		dst = append(append(append(dst, '"'), g.source.String()...), '"')
	}
	kind := value.KindName(g.kind)
	dst = appendMember(dst, `,"sourceName":`, g.sourceName)
	dst = appendMember(dst, `,"metric":`, g.metric)
	dst = appendMember(dst, `,"kind":`, &kind)
	dst = appendMember(dst, `,"unit":`, g.unit)
	return appendTags(append(dst, `,"tags":`...), g.tags)
}

// appendTags appends tags as an object with sorted keys.
func appendTags(dst []byte, tags map[string]string) []byte {
	dst = append(dst, '{')
	for i, key := range slices.Sorted(maps.Keys(tags)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, key) // stored strings are valid UTF-8
		dst = append(dst, ':')
		dst, _ = jsontext.AppendQuote(dst, tags[key])
	}
	return append(dst, '}')
}

// appendMember appends a member with a string value, or null for nil or an empty string.
func appendMember(dst []byte, name string, value *string) []byte {
	dst = append(dst, name...)
	if value == nil || *value == "" {
		return append(dst, "null"...)
	}
	dst, _ = jsontext.AppendQuote(dst, *value) // stored strings are valid UTF-8
	return dst
}

func (f ndjsonFormat) row(dst []byte, us int64, epoch string, identity []byte) []byte {
	return append(f.clock.AppendTimestamp(append(dst, `{"timestamp":`...), us, epoch), identity...)
}

func (ndjsonFormat) cell(dst []byte, name string, column timeseries.Column, i int) []byte {
	return value.AppendCell(append(dst, `,"`+name+`":`...), column, i)
}

func (ndjsonFormat) end(dst []byte) []byte { return append(dst, "}\n"...) }

// csvFormat has a column for each tag that any of the series has.
type csvFormat struct {
	tags  []string
	clock *value.Clock
}

// tagColumns returns the sorted tag keys of all groups.
func tagColumns(groups []*group) ([]string, error) {
	tags := map[string]bool{}
	for _, g := range groups {
		for key := range g.tags {
			tags[key] = true
		}
	}
	if len(tags) > maxTagColumns {
		return nil, fault.Newf(
			fault.Invalid,
			"The series have more than %d different tags, each a column of the format: ask for fewer series, or for NDJSON",
			maxTagColumns,
		).
			With("field", "format").With("reason", "has too many columns").With("limit", maxTagColumns).With("narrow", narrow)
	}
	return slices.Sorted(maps.Keys(tags)), nil
}

func (f csvFormat) header(dst []byte, names []string) []byte {
	dst = append(dst, "timestamp,sourceId,sourceName,metric,kind,unit"...)
	for _, tag := range f.tags {
		dst = reply.AppendCSVText(append(dst, ','), "tag."+tag)
	}
	for _, name := range names {
		dst = append(append(dst, ','), name...)
	}
	return append(dst, '\n')
}

func (f csvFormat) identity(dst []byte, g *group) []byte {
	dst = append(dst, ',')
	if g.source != nil {
		dst = append(dst, g.source.String()...)
	}
	kind := value.KindName(g.kind)
	for _, text := range []*string{g.sourceName, g.metric, &kind, g.unit} {
		dst = append(dst, ',')
		if text != nil {
			dst = reply.AppendCSVText(dst, *text)
		}
	}
	for _, tag := range f.tags {
		dst = append(dst, ',')
		if value, has := g.tags[tag]; has {
			dst = reply.AppendCSVText(dst, value)
		}
	}
	return dst
}

func (f csvFormat) row(dst []byte, us int64, epoch string, identity []byte) []byte {
	if epoch == "" {
		dst = f.clock.Append(dst, us)
	} else {
		dst = f.clock.AppendTimestamp(dst, us, epoch)
	}
	return append(dst, identity...)
}

func (csvFormat) cell(dst []byte, _ string, column timeseries.Column, i int) []byte {
	dst = append(dst, ',')
	if column.Strings == nil {
		if number := column.Numbers[i]; !math.IsNaN(number) && !math.IsInf(number, 0) {
			dst = value.AppendNumber(dst, number)
		}
		return dst
	}
	if text := column.Strings[i]; text != nil {
		return reply.AppendCSVText(dst, *text)
	}
	return dst
}

func (csvFormat) end(dst []byte) []byte { return append(dst, '\n') }
