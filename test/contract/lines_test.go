package contract_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/livedata"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
)

// lineRejection is a rejection that names a line.
type lineRejection struct {
	Index, Count, Line int
	Field, Reason      string
}

type acceptedLines struct {
	Accepted, Rejected int
	Errors             []lineRejection
	Checkpoint         string
}

// postLines posts line protocol to the route of all formats.
func (l *live) postLines(t testing.TB, query, body string) *contract.Answer {
	t.Helper()
	return l.Do(t, contract.Request{
		Method: http.MethodPost, Path: ingestPath + query, Body: body,
		Header: map[string]string{"Content-Type": "text/plain; charset=utf-8"},
	})
}

// sourceIDs returns the ids of the workspace's sources by name.
func (l *live) sourceIDs(t testing.TB) map[string]string {
	t.Helper()
	var list []source
	l.Get(t, "/api/live-data/sources?limit=100", &list)
	ids := map[string]string{}
	for _, s := range list {
		ids[s.Name] = s.ID
	}
	return ids
}

func TestLinesReachTheLogAndMakeTheirSources(t *testing.T) {
	t.Parallel()
	l := startLiveWithLog(t)
	made := l.createSource(t, `{"name":"boiler"}`)
	got := decode[acceptedLines](t, l.postLines(t, "?precision=s", "# a comment\n\n"+
		"boiler,room=A temp=71.5,on=t,door=\"open \\\"wide\\\"\" 1772323200\r\n"+
		`weather\ station,pla\,ce=no\=rth rain=3i 1772323201`+"\n"), http.StatusCreated)
	require.Equal(t, 4, got.Accepted)
	require.Zero(t, got.Rejected)
	require.NotNil(t, got.Errors)
	require.NotEmpty(t, got.Checkpoint)
	ids := l.sourceIDs(t)
	require.Len(t, ids, 2)
	require.Equal(t, made.ID, ids["boiler"])
	lines := readPointsLog(t, l.broker)
	require.ElementsMatch(t, []string{
		made.ID + " temp [{room A}] 2026-03-01T00:00:00Z=71.5",
		made.ID + " on [{room A}] 2026-03-01T00:00:00Z=1",
		made.ID + ` door [{room A}] 2026-03-01T00:00:00Z="open \"wide\""`,
		ids["weather station"] + " rain [{pla,ce no=rth}] 2026-03-01T00:00:01Z=3",
	}, lines)
}

func TestOnlyTheBadLineIsRejectedWithItsNumber(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	body := "m f=1 1000\n\nm f= 2000\n# comment\nm f=\"x 3000\nm g=1e999,f=2 4000\nm f=3 -1\nm f=4 5000\n"
	got := decode[acceptedLines](t, l.postLines(t, "?precision=ms", body), http.StatusCreated)
	require.Equal(t, 3, got.Accepted)
	require.Equal(t, 4, got.Rejected)
	require.Equal(t, []lineRejection{
		{
			Index: 2, Line: 3, Count: 1, Field: "fields.f",
			Reason: "must be a number, an integer with i or u after it, a boolean, or a string in double quotes",
		},
		{
			Index: 4, Line: 5, Count: 1, Field: "fields.f",
			Reason: "must be a string that ends with a double quote, with a backslash before those in it",
		},
		{Index: 5, Line: 6, Count: 1, Field: "fields.g", Reason: "is beyond the range of numbers"},
		{Index: 6, Line: 7, Count: 1, Field: "timestamp", Reason: "is before 1970"},
	}, got.Errors)

	l.postLines(t, "?strict=true", body).RequireFailure(t, 422, validation, "", map[string]any{
		"field": "fields.f", "accepted": 0.0,
	})
	refused := l.postLines(t, "", "x\ny\n")
	refused.RequireFailure(t, 422, validation, "No point was accepted", map[string]any{"field": "fields", "rejected": 2.0})
	require.NotContains(t, l.sourceIDs(t), "x", "no source is made for what is rejected")
	for _, empty := range []string{"\n", "# only a comment", " "} {
		l.postLines(t, "", empty).RequireFailure(t, 422, validation, "", map[string]any{
			"field": "body", "reason": "must hold at least one point",
		})
	}
	l.postLines(t, "?precision=d", "m f=1").RequireFailure(t, 400, validation, "", map[string]any{"field": "precision"})
	l.post(t, ingestPath+"?precision=s", `{}`).RequireFailure(t, 400, validation, "", map[string]any{"field": "precision"})
}

func TestSourcesOfLinesStopAtTheWorkspacesLimit(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	w, err := l.DB.CreateWorkspace(t.Context(), access.Workspace{
		Name: "small", Plan: "starter", Mode: "live", MaxSources: 2, MaxSeries: 100,
	})
	require.NoError(t, err)
	key := l.NewKey(t, []uuid.UUID{w.ID}, request.WriteLiveData)
	send := func(body string) *contract.Answer {
		return l.Do(t, contract.Request{
			Method: http.MethodPost, Path: ingestPath, Body: body, Key: key, Workspace: w.ID.String(),
			Header: map[string]string{"Content-Type": "text/plain"},
		})
	}
	got := decode[acceptedLines](t, send("a f=1\nb f=1\nc f=1,g=2\na f=2\n\x01 f=3"), http.StatusCreated)
	require.Equal(t, 3, got.Accepted)
	require.Equal(t, []lineRejection{
		{
			Index: 2, Line: 3, Count: 2, Field: "measurement",
			Reason: "is of a new source, and the workspace has as many sources as its limit (maxSources) allows",
		},
		{
			Index: 4, Line: 5, Count: 1, Field: "measurement",
			Reason: "cannot name a source: it must have 1 to 256 characters, none of them a control character, and not " +
				"only spaces",
		},
	}, got.Errors)
	require.Equal(t, 422, send("d f=1").Status)
}

// influx is a write by a client of InfluxDB.
type influx struct {
	path, authorization, body string
	header                    map[string]string
}

// influxAnswer is the part of an error that clients of InfluxDB read.
type influxAnswer struct{ Code, Message string }

func (l *live) influx(t testing.TB, w influx) (*contract.Answer, influxAnswer) {
	t.Helper()
	if w.body == "" {
		w.body = "m f=1 1772323200000000000\n"
	}
	header := map[string]string{"Authorization": w.authorization, "Content-Type": ""}
	for name, value := range w.header {
		header[name] = value
	}
	a := l.Do(t, contract.Request{
		Method: http.MethodPost, Path: w.path, Body: w.body, Key: contract.None, Workspace: contract.None, Header: header,
	})
	var read influxAnswer
	if a.Status != http.StatusNoContent {
		require.NoError(t, json.Unmarshal(a.Body, &read), "%s", a.Body)
		require.Equal(t, a.Error.Message, read.Message)
	}
	return a, read
}

func TestClientsOfInfluxDBWriteWithWhatTheyHave(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	id, key := l.Workspace.String(), l.Admin
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("telegraf:"+key))
	workspace := map[string]string{"x-workspace-id": id}
	for name, w := range map[string]influx{
		"version 2": {
			path: "/api/v2/write?org=any&bucket=" + id + "&precision=ns", authorization: "Token " + key,
		},
		"bearer":                 {path: "/api/v2/write?bucket=" + id, authorization: "Bearer " + key},
		"upper case":             {path: "/api/v2/write?bucket=" + strings.ToUpper(id), authorization: "TOKEN " + key},
		"header":                 {path: "/api/v2/write?org=o", authorization: "Token " + key, header: workspace},
		"header and a name":      {path: "/api/v2/write?bucket=telegraf", authorization: "Token " + key, header: workspace},
		"header and the same id": {path: "/api/v2/write?bucket=" + id, authorization: "Token " + key, header: workspace},
		"version 1":              {path: "/write?rp=autogen&consistency=any&db=" + id, authorization: basic},
		"version 1 with a token": {
			path: "/write?precision=m&db=" + id, authorization: "Token telegraf:" + key, body: "m f=1 1",
		},
		"version 1 with bearer": {path: "/write?db=" + id, authorization: "Bearer " + key},
		"any Content-Type": {path: "/write?db=" + id, authorization: basic, header: map[string]string{
			"Content-Type": "application/x-www-form-urlencoded",
		}},
		"no end of the last line": {path: "/write?db=" + id, authorization: basic, body: "m f=1"},
	} {
		a, _ := l.influx(t, w)
		require.Equal(t, http.StatusNoContent, a.Status, "%s: %s", name, a.Body)
		require.Empty(t, a.Body)
	}
	var compressed bytes.Buffer
	z := gzip.NewWriter(&compressed)
	_, err := z.Write([]byte("zipped f=1\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	a, _ := l.influx(t, influx{
		path: "/api/v2/write?bucket=" + id, authorization: "Token " + key, body: compressed.String(),
		header: map[string]string{"Content-Encoding": "gzip"},
	})
	require.Equal(t, http.StatusNoContent, a.Status)
	require.Contains(t, l.sourceIDs(t), "zipped")
}

func TestClientsOfInfluxDBReadTheErrorsTheyKnow(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	id, token := l.Workspace.String(), "Token "+l.Admin
	v2, v1 := "/api/v2/write?bucket="+id, "/write?db="+id
	reader := "Token " + l.NewKey(t, []uuid.UUID{l.Workspace}, request.ReadLiveData)
	large := strings.Repeat("m f=1\n", 32<<20/6+1)
	for name, c := range map[string]struct {
		influx
		status                int
		code, inEnvelope, has string
	}{
		"no key":            {influx{path: v2}, 401, "unauthorized", authentication, "Missing Authorization"},
		"no key, version 1": {influx{path: v1}, 401, "unauthorized", authentication, "Missing Authorization"},
		"unknown key": {
			influx{path: v1, authorization: "Token " + apikey.Generate(apikey.Live).Reveal()}, 401, "unauthorized",
			authentication, "Unauthorized",
		},
		"key in the URL": {
			influx{path: v1 + "&u=x&p=" + l.Admin}, 401, "unauthorized", authentication, "Missing Authorization",
		},
		"key there, too": {
			influx{path: v1 + "&p=" + l.Admin, authorization: token}, 400, "invalid", validation, "in logs",
		},
		"basic on version 2": {
			influx{path: v2, authorization: "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+l.Admin))}, 401,
			"unauthorized", authentication, "Unauthorized",
		},
		"basic without colon": {
			influx{path: v1, authorization: "Basic " + base64.StdEncoding.EncodeToString([]byte(l.Admin))}, 401, "unauthorized",
			authentication, "Unauthorized",
		},
		"no base64": {
			influx{path: v1, authorization: "Basic x:" + l.Admin}, 401, "unauthorized", authentication, "Unauthorized",
		},
		"scope": {influx{path: v2, authorization: reader}, 403, "forbidden", authorization, "Forbidden"},
		"workspace denied": {
			influx{path: "/api/v2/write?bucket=" + uuid.NewString(), authorization: token}, 403, "forbidden", authorization,
			"Workspace access denied",
		},
		"no workspace": {influx{path: "/api/v2/write?org=x", authorization: token}, 400, "invalid", validation, "bucket"},
		"a bucket's name": {
			influx{path: "/api/v2/write?bucket=telegraf", authorization: token}, 400, "invalid", validation, "bucket",
		},
		"two workspaces": {
			influx{path: v1, authorization: token, header: map[string]string{"x-workspace-id": uuid.NewString()}}, 400,
			"invalid", validation, "another workspace",
		},
		"precision": {
			influx{path: v2 + "&precision=d", authorization: token}, 400, "invalid", validation, "precision",
		},
		"nothing readable": {
			influx{path: v2, authorization: token, body: "x\ny\n"}, 400, "invalid", validation, "line 1: fields",
		},
		"one bad line": {
			influx{path: v2, authorization: token, body: "good f=1\nm f\n"}, 400, "invalid", validation,
			"partial write: line 2: fields",
		},
		"only a comment": {
			influx{path: v2, authorization: token, body: "# x"}, 400, "invalid", validation, "at least one point",
		},
		"corrupt gzip": {
			influx{path: v2, authorization: token, body: "x", header: map[string]string{"Content-Encoding": "gzip"}}, 400,
			"invalid", validation, "Content-Encoding",
		},
		"unknown encoding": {
			influx{path: v2, authorization: token, body: "x", header: map[string]string{"Content-Encoding": "br"}}, 415,
			"invalid", validation, "Content-Encoding",
		},
		"too large": {
			influx{path: v2, authorization: token, body: large}, 413, "request too large", validation, "larger",
		},
		"too many points": {
			influx{path: v2, authorization: token, body: strings.Repeat("m f=1\n", 1_000_001)}, 413, "request too large",
			validation, "1000000 points",
		},
	} {
		a, read := l.influx(t, c.influx)
		require.Equal(t, c.status, a.Status, "%s: %s", name, a.Body)
		require.Equal(t, c.code, read.Code, name)
		require.Contains(t, read.Message, c.has, name)
		require.Equal(t, c.inEnvelope, a.Error.Code, name)
		require.False(t, a.Success)
		require.NotContains(t, string(a.Body), l.Admin)
	}
	require.Contains(t, l.sourceIDs(t), "good", "what is good is stored")
	for _, path := range []string{v1, v2} {
		l.Do(t, contract.Request{Path: path}).RequireFailure(t, 405, validation, "", nil)
		l.Do(t, contract.Request{Path: path, Key: contract.None}).RequireFailure(t, 401, authentication, "", nil)
	}
	l.Do(t, contract.Request{Path: "/api/me", Key: contract.None, Header: map[string]string{"Authorization": token}}).
		RequireFailure(t, 401, authentication, "Unauthorized", nil)
}

func TestClientsOfInfluxDBMustRetryLaterUnderOverload(t *testing.T) {
	t.Parallel()
	group := &contract.LiveData{Change: func(d *livedata.Deps) { d.Bodies = request.NewBudget(1) }}
	l := &live{Server: contract.Start(t, group.Group), LiveData: group}
	a, read := l.influx(t, influx{path: "/api/v2/write?bucket=" + l.Workspace.String(), authorization: "Token " + l.Admin})
	require.Equal(t, http.StatusServiceUnavailable, a.Status)
	require.Equal(t, "1", a.Header.Get("Retry-After"))
	require.Equal(t, "unavailable", read.Code)
}

func TestTheProbesOfInfluxDBAnswerWithoutAKey(t *testing.T) {
	t.Parallel()
	s := contract.Start(t)
	public := contract.Request{Key: contract.None, Workspace: contract.None}
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		public.Path, public.Method = "/ping?verbose=true", method
		a := s.Do(t, public)
		require.Equal(t, http.StatusNoContent, a.Status)
		require.Equal(t, contract.Version, a.Header.Get("X-Influxdb-Version"))
	}
	public.Path, public.Method = "/health", http.MethodGet
	a := s.Do(t, public)
	require.Equal(t, http.StatusOK, a.Status)
	require.JSONEq(
		t, `{"name":"livegraph","message":"ready for writes","status":"pass","checks":[],"version":"test"}`, string(a.Body),
	)
}
