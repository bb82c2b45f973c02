package contract_test

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/promwrite"
)

const remoteWritePath = "/api/v1/write"

// remoteWritePaths are the paths that accept remote writes.
var remoteWritePaths = []string{remoteWritePath, ingestPath}

// remoteWrite sends the bytes with the headers of Prometheus, overridden by the given ones.
func (l *live) remoteWrite(t testing.TB, path string, body []byte, header map[string]string) *contract.Answer {
	t.Helper()
	all := map[string]string{
		"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": "0.1.0",
		"User-Agent": "Prometheus/3.5.0",
	}
	for name, value := range header {
		all[name] = value
	}
	return l.Do(t, contract.Request{Method: http.MethodPost, Path: path, Body: string(body), Header: all})
}

// encodeWrite encodes a write request as Prometheus does.
func encodeWrite(series ...promwrite.Message) []byte {
	return snappy.Encode(nil, promwrite.Request(series...))
}

// upSeries returns the series up of a target.
func upSeries(instance string, more ...string) promwrite.Message {
	return promwrite.Labels(append([]string{"__name__", "up", "instance", instance, "job", "node"}, more...)...)
}

const marchFirst = 1772323200000 // 2026-03-01T00:00:00Z

// sourceNames returns the workspace's sources by name.
func (l *live) sourceNames(t testing.TB) map[string]string {
	t.Helper()
	var list []source
	l.Get(t, sourcesPath, &list)
	names := map[string]string{}
	for _, s := range list {
		names[s.Name] = s.ID
	}
	return names
}

func TestRemoteWritesReachTheLog(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	for i, path := range remoteWritePaths {
		a := l.remoteWrite(
			t, path,
			encodeWrite(
				upSeries("a:1", "zone", "b").Sample(marchFirst+int64(i), 1).Sample(marchFirst+1000, promwrite.Stale()),
				upSeries("b:1").Sample(marchFirst+int64(i), 0.5),
			),
			nil,
		)
		require.Equal(t, http.StatusNoContent, a.Status, "%s", a.Body)
		require.Empty(t, a.Body)
		require.NotEmpty(t, a.Header.Get("X-Request-Id"))
	}
	names := l.sourceNames(t)
	require.Len(t, names, 2)
	require.ElementsMatch(t, []string{
		names["node/a:1"] + " up [{zone b}] 2026-03-01T00:00:00Z=1",
		names["node/a:1"] + " up [{zone b}] 2026-03-01T00:00:00.001Z=1",
		names["node/a:1"] + ` up [{zone b}] 2026-03-01T00:00:01Z="stale"`,
		names["node/a:1"] + ` up [{zone b}] 2026-03-01T00:00:01Z="stale"`,
		names["node/b:1"] + " up [] 2026-03-01T00:00:00Z=0.5", names["node/b:1"] + " up [] 2026-03-01T00:00:00.001Z=0.5",
	}, readPointsLog(t, l.broker))
}

func TestRemoteWritesWithNothingToStoreAreTaken(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	metadata := promwrite.Message{}.Bytes(3, promwrite.Message{}.Varint(1, 1).Text(2, "up").Text(4, "help"))
	for _, path := range remoteWritePaths {
		for _, body := range [][]byte{encodeWrite(), snappy.Encode(nil, metadata)} {
			require.Equal(t, http.StatusNoContent, l.remoteWrite(t, path, body, nil).Status)
		}
	}
	require.Empty(t, l.sourceNames(t))
	require.Empty(t, readPointsLog(t, l.broker))
}

func TestGoodSamplesOfARemoteWriteAreKept(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	partly := encodeWrite(upSeries("a:1").Sample(marchFirst, 1).Sample(-1, math.NaN()),
		promwrite.Labels("job", "node").Sample(marchFirst, 1),
		upSeries("a:1").Sample(time.Now().Add(25*time.Hour).UnixMilli(), 1),
		upSeries("b:1").Bytes(4, nil))
	rejected := map[string]string{
		"timeseries[0].samples[1].timestamp": "is before 1970", "timeseries[1].labels.__name__": "must not be empty",
		"timeseries[2].samples[0].timestamp": "is more than a day ahead of the server's clock (see precision)",
	}
	check := func(errors []rejection) {
		require.Len(t, errors, 4)
		for _, e := range errors[:3] {
			require.Equal(t, rejected[e.Field], e.Reason)
		}
		require.Equal(t, "timeseries[3].histograms[0]", errors[3].Field)
		require.Contains(t, errors[3].Reason, "native histogram")
	}
	a := l.remoteWrite(t, remoteWritePath, partly, nil)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{
		"accepted": 1.0, "rejected": 4.0, "field": "timeseries[0].samples[1].timestamp",
	})
	var errors []rejection
	text, err := json.Marshal(a.Error.Details["errors"])
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &errors))
	check(errors)
	require.NotContains(t, strings.TrimSuffix(string(a.Body), "\n"), "\n", "Prometheus logs the first line of an error")
	require.Len(t, readPointsLog(t, l.broker), 1, "what was good is there")

	got := decode[accepted](t, l.remoteWrite(t, ingestPath, partly, nil), http.StatusCreated)
	require.Equal(t, []int{1, 4}, []int{got.Accepted, got.Rejected})
	check(got.Errors)
	require.NotEmpty(t, got.Checkpoint)
	require.Len(t, readPointsLog(t, l.broker), 2)

	l.remoteWrite(t, ingestPath+"?strict=true", partly, nil).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"accepted": 0.0, "rejected": 4.0},
	)
	none := encodeWrite(upSeries("c:1").Sample(-1, math.Inf(1)))
	l.remoteWrite(t, ingestPath, none, nil).RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"accepted": 0.0, "rejected": 1.0},
	)
	l.remoteWrite(t, remoteWritePath, none, nil).RequireFailure(
		t, http.StatusBadRequest, validation, "", map[string]any{"accepted": 0.0, "rejected": 1.0},
	)
	require.Len(t, readPointsLog(t, l.broker), 2)
	require.NotContains(t, l.sourceNames(t), "node/c:1", "no source is made for what is rejected")
}

func TestRemoteWritesAreCompressedInTheUsualWays(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	plain := promwrite.Request(upSeries("a:1").Sample(marchFirst, 1))
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	bomb := snappy.Encode(nil, make([]byte, 33<<20))
	for _, path := range remoteWritePaths {
		for encoding, body := range map[string][]byte{
			"snappy": encodeWrite(upSeries("a:1").Sample(marchFirst, 1)),
			"":       encodeWrite(upSeries("a:1").Sample(marchFirst, 1)), "gzip": zipped.Bytes(),
			"zstd": z.EncodeAll(plain, nil), "identity": plain,
		} {
			require.Equal(
				t, http.StatusNoContent,
				l.remoteWrite(t, path, body, map[string]string{"Content-Encoding": encoding}).Status, encoding,
			)
		}
		for name, body := range map[string][]byte{
			"not compressed": plain, "cut off": encodeWrite(upSeries("a:1").Sample(marchFirst, 1))[:20],
			"compressed twice": snappy.Encode(nil, encodeWrite(upSeries("a:1").Sample(marchFirst, 1))), "text": []byte("hello"),
			"a length of nothing": {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		} {
			a := l.remoteWrite(t, path, body, nil)
			a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": "body"})
			require.NotContains(t, string(a.Body), "snappy:", name)
		}
		l.remoteWrite(t, path, nil, nil).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": "body", "reason": "is empty"},
		)
		l.remoteWrite(t, path, bomb, nil).RequireFailure(
			t, http.StatusRequestEntityTooLarge, validation, "", map[string]any{"limit": float64(32 << 20)},
		)
		l.remoteWrite(t, path, []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1, 2}, nil).RequireFailure(
			t, http.StatusRequestEntityTooLarge, validation, "", nil,
		)
		for _, encoding := range []string{"snappy, snappy", "br", "snappy,gzip"} {
			l.remoteWrite(t, path, plain, map[string]string{"Content-Encoding": encoding}).RequireFailure(
				t, http.StatusUnsupportedMediaType, validation, "", map[string]any{"field": "Content-Encoding"},
			)
		}
		require.Equal(
			t, http.StatusNoContent, l.remoteWrite(t, path, encodeWrite(upSeries("a:1").Sample(marchFirst, 1)), nil).Status,
			"the next good request works",
		)
	}
	require.Len(t, readPointsLog(t, l.broker), 12)
}

func TestOtherMessagesThanDeclaredAreUnsupported(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	good := encodeWrite(upSeries("a:1").Sample(marchFirst, 1))
	v2 := encodeWrite2(upSeries("a:1").Sample(marchFirst, 1))
	for _, path := range remoteWritePaths {
		for _, contentType := range []string{
			"application/x-protobuf;proto=prometheus.WriteRequest", `application/x-protobuf; proto="prometheus.WriteRequest"`,
			"Application/X-Protobuf",
		} {
			require.Equal(
				t, http.StatusNoContent,
				l.remoteWrite(t, path, good, map[string]string{"Content-Type": contentType}).Status, contentType,
			)
		}
		for name, value := range map[string]string{
			"Content-Type":                      "application/x-protobuf;proto=io.prometheus.write.v3.Request",
			"X-Prometheus-Remote-Write-Version": "2.0.0",
		} {
			a := l.remoteWrite(t, path, v2, map[string]string{name: value})
			a.RequireFailure(t, http.StatusUnsupportedMediaType, validation, "", map[string]any{"field": name})
			require.NotEmpty(t, a.Error.Details["allowed"])
		}
		for _, a := range []*contract.Answer{l.remoteWrite(t, path, v2, nil), l.remoteWrite(t, path, good, version2)} {
			a.RequireFailure(t, http.StatusUnsupportedMediaType, validation, "", map[string]any{"field": "Content-Type"})
		}
		l.remoteWrite(t, path, snappy.Encode(nil, []byte(`{"points":[]}`)), nil).RequireFailure(
			t, http.StatusBadRequest, validation, "", map[string]any{"field": "body"},
		)
	}
	for _, contentType := range []string{
		"", "application/json", "text/plain", "application/octet-stream", "application/x-protobuf; charset=latin1",
	} {
		l.remoteWrite(t, remoteWritePath, good, map[string]string{"Content-Type": contentType}).RequireFailure(
			t, http.StatusUnsupportedMediaType, validation, "",
			map[string]any{"field": "Content-Type", "allowed": []any{"application/x-protobuf"}},
		)
	}
	require.Len(t, readPointsLog(t, l.broker), 6)
}

func TestRemoteWriteRequiresKeyWorkspaceAndScope(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	other := l.NewWorkspace(t, apikey.Live)
	send := func(q contract.Request) *contract.Answer {
		q.Method, q.Path = http.MethodPost, remoteWritePath
		q.Body = string(encodeWrite(upSeries("a:1").Sample(marchFirst, 1)))
		q.Header = map[string]string{"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy"}
		return l.Do(t, q)
	}
	send(contract.Request{Key: contract.None}).RequireFailure(t, 401, authentication, "Missing Authorization", nil)
	send(contract.Request{
		Key: apikey.Generate(apikey.Live).Reveal(),
	}).RequireFailure(t, 401, authentication, "Unauthorized", nil)
	send(contract.Request{Workspace: contract.None}).RequireFailure(
		t, 400, validation, "", map[string]any{"field": "x-workspace-id"},
	)
	send(contract.Request{Workspace: other.String()}).RequireFailure(t, 403, authorization, "Workspace access denied", nil)
	send(contract.Request{Key: l.NewKey(
		t, []uuid.UUID{l.Workspace}, request.ReadLiveData,
	)}).RequireFailure(t, 403, authorization, "Forbidden", nil)
	require.Equal(
		t, http.StatusNoContent,
		send(contract.Request{Key: l.NewKey(t, []uuid.UUID{l.Workspace}, request.WriteLiveData)}).Status,
	)
	require.Equal(
		t, http.StatusNoContent,
		l.remoteWrite(t, remoteWritePath+"?db=x&db=y", encodeWrite(upSeries("a:1").Sample(marchFirst, 1)), nil).Status,
		"query parameters have no meaning",
	)
	l.remoteWrite(
		t, ingestPath+"?db=x", encodeWrite(upSeries("a:1").Sample(marchFirst, 1)), nil,
	).RequireFailure(t, 400, validation, "", map[string]any{"field": "db"})
	a := l.Do(t, contract.Request{Path: remoteWritePath})
	a.RequireFailure(t, http.StatusMethodNotAllowed, validation, "", nil)
	require.Equal(t, "OPTIONS, POST", a.Header.Get("Allow"))
}

func TestARemoteWriteWithAnIdempotencyKeyIsDoneOnce(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	for i := range 2 {
		a := l.remoteWrite(
			t, ingestPath, encodeWrite(upSeries("a:1").Sample(marchFirst, 1)), map[string]string{"Idempotency-Key": "once"},
		)
		require.Equal(t, http.StatusNoContent, a.Status)
		require.Equal(t, i == 1, a.Header.Get("Idempotent-Replayed") == "true")
	}
	require.Len(t, readPointsLog(t, l.broker), 1)
}

func TestTheLimitOfSourcesRejectsSamples(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	_, err := l.DB.UpdateWorkspace(t.Context(), l.Workspace, limitOfSources(1))
	require.NoError(t, err)
	a := l.remoteWrite(
		t, remoteWritePath,
		encodeWrite(
			upSeries("a:1").Sample(marchFirst, 1), upSeries("b:1").Sample(marchFirst, 1),
			upSeries("b:1").Sample(marchFirst+1, 1),
		),
		nil,
	)
	a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{
		"accepted": 1.0, "rejected": 2.0, "field": "timeseries[1].labels.job",
	})
	require.Len(t, l.sourceNames(t), 1)
}

func TestLinesOfJSONReachTheLog(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	send := func(path, body string) *contract.Answer {
		return l.Do(t, contract.Request{
			Method: http.MethodPost, Path: path, Body: body, Header: map[string]string{"Content-Type": "application/x-ndjson"},
		})
	}
	row := `{"source":"boiler","metric":"temp","timestamp":"2026-03-01T00:00:00Z","value":1}`
	bad := `{"source":"boiler","metric":"temp","timestamp":-1,"value":1}`
	series := `{"sourceId":"` +
		made.ID + `","metric":"load","tags":{"a":"b"},"timestamps":[1772323200000,1772323201000],"values":[1,"x"]}`
	got := decode[accepted](t, send(ingestPath, row+"\r\n\r\n"+series+"\n"+bad+"\n"), http.StatusCreated)
	require.Equal(t, []int{3, 1}, []int{got.Accepted, got.Rejected})
	require.Equal(t, "timestamp", got.Errors[0].Field)
	require.Equal(t, 4, *got.Errors[0].Line)
	require.NotEmpty(t, got.Checkpoint)
	want := []string{
		made.ID + " temp [] 2026-03-01T00:00:00Z=1", made.ID + " load [{a b}] 2026-03-01T00:00:00Z=1",
		made.ID + ` load [{a b}] 2026-03-01T00:00:01Z="x"`,
	}
	require.ElementsMatch(t, want, readPointsLog(t, l.broker))

	send(ingestPath, row+"\n{\n}").RequireFailure(t, 400, validation, "", map[string]any{"field": "body", "line": 2.0})
	send(ingestPath, row+"\n"+`{"metric":"m","value":1}`).RequireFailure(t, 400, validation, "", map[string]any{
		"field": "sourceId", "line": 2.0,
	})
	send(
		ingestPath, row+"\n"+`{"source":"boiler","metric":"m","timestamps":[1],"values":[]}`,
	).RequireFailure(t, 422, validation, "", map[string]any{"field": "values", "line": 2.0})
	send(ingestPath, "\n\n").RequireFailure(t, 422, validation, "", map[string]any{"field": "body", "accepted": 0.0})
	send(ingestPath, bad).RequireFailure(t, 422, validation, "", map[string]any{
		"field": "timestamp", "line": 1.0, "rejected": 1.0,
	})
	send(ingestPath+"?strict=true", row+"\n"+bad).RequireFailure(t, 422, validation, "", map[string]any{
		"field": "timestamp", "line": 2.0,
	})
	send(ingestPath, `{"points":[`+row+`]}`).RequireFailure(t, 400, validation, "", map[string]any{
		"field": "points", "line": 1.0,
	})
	send(ingestPath, row+"\n"+strings.Repeat("[", 100_000)).RequireFailure(
		t, 400, validation, "", map[string]any{"line": 2.0},
	)
	require.Len(t, readPointsLog(t, l.broker), len(want), "nothing of these is there")
}

func TestStreamsLeaveSpecialValuesOut(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	s := l.openStream(t, "metric=up")
	s.awaitStart()
	for i, v := range []float64{math.NaN(), 7} {
		body := encodeWrite(upSeries("a:1").Sample(marchFirst+int64(i), v))
		require.Equal(t, http.StatusNoContent, l.remoteWrite(t, remoteWritePath, body, nil).Status)
	}
	for {
		e, ok := s.next()
		require.True(t, ok)
		if e.name == "points" {
			require.Equal(t, "number", e.rows[0].Kind)
			require.Equal(t, [][]any{{"2026-03-01T00:00:00.001Z", 7.0}}, e.rows[0].Points)
			return
		}
	}
}
