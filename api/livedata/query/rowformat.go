package query

import (
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// Forms of a query's answer. CSV and NDJSON have a row a point, in the order of
// time over all series, and no envelope.
const (
	formatJSON   = "json"
	formatCSV    = "csv"
	formatNDJSON = "ndjson"
)

var contentTypes = map[string]string{
	formatJSON: "application/json", formatCSV: "text/csv", formatNDJSON: "application/x-ndjson",
}

const (
	// maxTagColumns bounds the columns of a CSV answer.
	maxTagColumns = 256
	// rowsBuffer is how many bytes of rows are gathered before they are sent.
	rowsBuffer = 32 << 10
	// identityBytes is about what the identity of a series takes.
	identityBytes = 192
)

// writeRows answers with a row a point. What the envelope would tell of further
// pages is in the header Link.
func (r *run) writeRows(w http.ResponseWriter, request *http.Request) error {
	form, columns := r.form, r.q.columns()[1:]
	h := w.Header()
	h.Set("Content-Type", contentTypes[r.q.format]+"; charset=utf-8")
	if next := r.nextPage(request.URL); next != "" {
		h.Set("Link", "<"+next+`>; rel="next"`)
	}
	if r.meta.Interval != "" {
		h.Set("X-Livegraph-Interval", r.meta.Interval)
	}
	w.WriteHeader(http.StatusOK)

	out := form.header(make([]byte, 0, rowsBuffer+rowsBuffer/4), columns)
	for merged := newMerge(r.points, r.q.descending); merged.next(); {
		points := r.points[merged.group]
		out = form.row(out, points.TS[merged.row], r.q.epoch, r.identities.of(merged.group))
		for i, column := range points.Columns {
			out = form.cell(out, columns[i], column, merged.row)
		}
		if out = form.end(out); len(out) >= rowsBuffer {
			if _, err := w.Write(out); err != nil {
				return nil //nolint:nilerr // the client is gone: nothing to do
			}
			out = out[:0]
		}
	}
	_, _ = w.Write(out) // the client is gone: nothing to do
	return nil
}

// rowForm returns how the rows of the answer are written.
func (r *run) rowForm() (rowForm, error) {
	if r.q.format == formatNDJSON {
		return ndjsonForm{clock: &value.Clock{}}, nil
	}
	tags, err := tagColumns(r.groups)
	return csvForm{tags: tags, clock: &value.Clock{}}, err
}

// nextPage returns the address of what follows, empty at the end.
func (r *run) nextPage(asked *url.URL) string {
	values := asked.Query()
	switch {
	case r.meta.NextCursor != nil:
		values.Set("cursor", *r.meta.NextCursor)
	case r.meta.HasMore:
		values.Set("offset", strconv.Itoa(r.q.offset+len(r.groups)))
	default:
		return ""
	}
	return asked.EscapedPath() + "?" + values.Encode()
}

// rowForm writes rows: row, then cell for each column, then end.
type rowForm interface {
	header(dst []byte, columns []string) []byte
	identity(dst []byte, g *group) []byte // what all rows of a group have in common
	row(dst []byte, us int64, epoch string, identity []byte) []byte
	cell(dst []byte, name string, column timeseries.Column, i int) []byte
	end(dst []byte) []byte
}

// identities are those of groups, made before their rows are mixed.
type identities struct {
	text []byte
	ends []int // in the text, by group
}

func newIdentities(form rowForm, groups []*group) *identities {
	ids := &identities{text: make([]byte, 0, len(groups)*identityBytes), ends: make([]int, len(groups))}
	for i, g := range groups {
		ids.text = form.identity(ids.text, g)
		ids.ends[i] = len(ids.text)
	}
	return ids
}

func (ids *identities) of(group int) []byte {
	from := 0
	if group > 0 {
		from = ids.ends[group-1]
	}
	return ids.text[from:ids.ends[group]]
}

// ndjsonForm has an object a line.
type ndjsonForm struct{ clock *value.Clock }

func (ndjsonForm) header(dst []byte, _ []string) []byte { return dst }

func (ndjsonForm) identity(dst []byte, g *group) []byte {
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
	dst = append(dst, `,"tags":{`...)
	for i, key := range slices.Sorted(maps.Keys(g.tags)) {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, key)
		dst = append(dst, ':')
		dst, _ = jsontext.AppendQuote(dst, g.tags[key])
	}
	return append(dst, '}')
}

// appendMember writes a text, or null for none, after its name.
func appendMember(dst []byte, name string, value *string) []byte {
	dst = append(dst, name...)
	if value == nil || *value == "" {
		return append(dst, "null"...)
	}
	dst, _ = jsontext.AppendQuote(dst, *value) // what is stored is valid UTF-8
	return dst
}

func (f ndjsonForm) row(dst []byte, us int64, epoch string, identity []byte) []byte {
	return append(f.clock.AppendTimestamp(append(dst, `{"timestamp":`...), us, epoch), identity...)
}

func (ndjsonForm) cell(dst []byte, name string, column timeseries.Column, i int) []byte {
	return value.AppendCell(append(dst, `,"`+name+`":`...), column, i)
}

func (ndjsonForm) end(dst []byte) []byte { return append(dst, "}\n"...) }

// csvForm has a column for each tag that any of the series has.
type csvForm struct {
	tags  []string
	clock *value.Clock
}

// tagColumns returns the tags of all groups.
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
			"The series have more than %d different tags, each a column of CSV: ask for fewer series, or for NDJSON",
			maxTagColumns,
		).
			With("field", "format").With("reason", "has too many columns").With("limit", maxTagColumns).With("narrow", narrow)
	}
	return slices.Sorted(maps.Keys(tags)), nil
}

func (f csvForm) header(dst []byte, columns []string) []byte {
	dst = append(dst, "timestamp,sourceId,sourceName,metric,kind,unit"...)
	for _, tag := range f.tags {
		dst = reply.AppendCSVText(append(dst, ','), "tag."+tag)
	}
	for _, name := range columns {
		dst = append(append(dst, ','), name...)
	}
	return append(dst, '\n')
}

func (f csvForm) identity(dst []byte, g *group) []byte {
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

func (f csvForm) row(dst []byte, us int64, epoch string, identity []byte) []byte {
	if epoch == "" {
		dst = f.clock.Append(dst, us)
	} else {
		dst = f.clock.AppendTimestamp(dst, us, epoch)
	}
	return append(dst, identity...)
}

func (csvForm) cell(dst []byte, _ string, column timeseries.Column, i int) []byte {
	dst = append(dst, ',')
	if column.Texts == nil {
		if number := column.Numbers[i]; !math.IsNaN(number) && !math.IsInf(number, 0) {
			dst = value.AppendNumber(dst, number)
		}
		return dst
	}
	if text := column.Texts[i]; text != nil {
		return reply.AppendCSVText(dst, *text)
	}
	return dst
}

func (csvForm) end(dst []byte) []byte { return append(dst, '\n') }
