package contract_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
)

// live is a server with the live-data routes and their stores.
type live struct {
	*contract.Server
	*contract.LiveData
}

func startLive(t *testing.T) *live {
	t.Helper()
	group := &contract.LiveData{}
	return &live{Server: contract.Start(t, group.Group), LiveData: group}
}

// source is a source as the API shows it.
type source struct {
	ID, Name, Description string
	NodeID, Unit          *string
	Metrics               []map[string]string
	Tags                  map[string]string
	RetentionDays         *int
	IntervalSeconds       *float64
	CreatedAt, UpdatedAt  time.Time
	Version               int
	LastSeenAt            *time.Time
	Status                *string
}

func (l *live) post(t testing.TB, path, body string) *contract.Answer {
	t.Helper()
	return l.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: body})
}

func (l *live) createSource(t testing.TB, body string) source {
	t.Helper()
	return decode[source](t, l.post(t, "/api/live-data/sources", body), http.StatusCreated)
}

func decode[T any](t testing.TB, a *contract.Answer, status int) T {
	t.Helper()
	require.Equal(t, status, a.Status, "%s", a.Body)
	var into T
	require.NoError(t, json.Unmarshal(a.Data, &into))
	return into
}

// seriesKey identifies a series in a test.
type seriesKey struct {
	source string
	metric string
	tags   map[string]string
	text   bool
	// special is set for a series of values that only PromQL reads.
	special bool
}

// register registers the series, as an ingest would, and returns its id.
func (l *live) register(t testing.TB, workspace uuid.UUID, key seriesKey) uint64 {
	t.Helper()
	ident := pointblock.Identity{
		Workspace: workspace, Source: uuid.MustParse(key.source), Metric: key.metric, Kind: pointblock.KindNumber,
	}
	switch {
	case key.text:
		ident.Kind = pointblock.KindString
	case key.special:
		ident.Kind = pointblock.KindSpecial
	}
	for _, name := range sortedKeys(key.tags) {
		ident.Tags = append(ident.Tags, pointblock.Tag{Key: name, Value: key.tags[name]})
	}
	ids, ok, err := l.DB.RegisterSeries(
		t.Context(), workspace, []pointblock.Identity{ident}, []pointblock.Fingerprint{ident.Fingerprint(&[16]byte{1})},
	)
	require.NoError(t, err)
	require.True(t, ok[0])
	return ids[0]
}

// sample is a point of a test.
type sample struct {
	us      int64
	value   any // float64 or string
	version uint64
}

// store inserts points into ClickHouse, as the consumer would.
func (l *live) store(t testing.TB, workspace uuid.UUID, key seriesKey, samples ...sample) {
	t.Helper()
	id := l.register(t, workspace, key)
	var (
		numbers clickhouse.PointColumns
		texts   clickhouse.StateColumns
		latest  []clickhouse.LatestRow
	)
	for _, p := range samples {
		row := clickhouse.LatestRow{
			Workspace: workspace, Source: uuid.MustParse(key.source), Series: id, TS: p.us, Version: p.version,
		}
		switch value := p.value.(type) {
		case string:
			texts.Append(id, p.us, value, p.version)
			row.Text = value
		case float64:
			numbers.Append(id, p.us, value, p.version)
			row.Value = value
		}
		latest = append(latest, row)
	}
	require.NoError(t, l.Points.InsertPoints(t.Context(), &numbers))
	require.NoError(t, l.Points.InsertStates(t.Context(), &texts))
	require.NoError(t, l.Points.InsertLatest(t.Context(), clickhouse.LatestOf(latest...)))
}

// rows is one element of a query's answer.
type rows struct {
	SourceID, SourceName, Metric *string
	Kind                         string
	Unit                         *string
	Tags                         map[string]string
	Columns                      []string
	Points                       [][]any
}

func (l *live) query(t testing.TB, params string) []rows {
	t.Helper()
	return decode[[]rows](t, l.Do(t, contract.Request{Path: "/api/live-data/query?" + params}), http.StatusOK)
}

// t0 is the time of the first point of tests.
var t0 = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

func microsAt(d time.Duration) int64 { return t0.Add(d).UnixMicro() }

func timestampAt(d time.Duration) string { return t0.Add(d).Format("2006-01-02T15:04:05.999999Z") }

// rangeParams returns the parameters of the range from t0 to d later.
func rangeParams(d time.Duration) string {
	return fmt.Sprintf("from=%s&to=%s", timestampAt(0), timestampAt(d))
}

func escape(text string) string { return url.QueryEscape(text) }

func ptr[T any](v T) *T { return &v }

func limitOfSources(n int64) access.WorkspaceChange {
	return access.WorkspaceChange{MaxSources: &n}
}

func limitOfSeries(n int64) access.WorkspaceChange { return access.WorkspaceChange{MaxSeries: &n} }
