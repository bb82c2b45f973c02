package contract_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/clickhouse/auditlog"
	"github.com/livegraph/livegraph/storage/postgres/access"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/test/contract"
	"github.com/livegraph/livegraph/test/testenv"
)

// auditTimeout is how long an audit record may take to be visible.
const auditTimeout = time.Minute

// eventually polls the condition in the test's goroutine, so that a failed assertion in
// the condition ends the test.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(auditTimeout); !condition(); time.Sleep(20 * time.Millisecond) {
		require.True(t, time.Now().Before(deadline), what)
	}
}

// waitForUse waits until the workspace's admin can read the audit record of a request.
func waitForUse(t *testing.T, s *contract.Server, requestID string, ready func(u *audit.Entry) bool) audit.Entry {
	t.Helper()
	var found []audit.Entry
	eventually(t, "the use "+requestID, func() bool {
		s.Get(t, "/api/admin/audit?requestId="+requestID, &found)
		require.LessOrEqual(t, len(found), 1, "a request is shown once")
		return len(found) == 1 && (ready == nil || ready(&found[0]))
	})
	return found[0]
}

func TestEachUseOfAKeyIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{}
	cfg := contract.Config()
	cfg.TrustedProxies = []string{"127.0.0.0/8"}
	s := contract.StartWith(t, cfg, group.Group, contract.GraphReads)
	reader, readerKey := s.AddKey(
		t, access.NewKey{Mode: apikey.Live, Workspaces: []uuid.UUID{s.Workspace}}, request.ReadNodes,
	)
	gone, goneKey := s.AddKey(
		t, access.NewKey{Mode: apikey.Live, Workspaces: []uuid.UUID{s.Workspace}}, request.ReadNodes,
	)
	_, err := s.DB.RevokeKey(t.Context(), goneKey.ID)
	require.NoError(t, err)
	other := s.NewWorkspace(t, apikey.Live)
	node := "/api/queries/nodes/" + uuid.NewString()
	for _, c := range []struct {
		what   string
		q      contract.Request
		status int
		route  string
		key    uuid.UUID
	}{
		{"an answer", contract.Request{Path: "/api/queries/nodes", Key: reader}, 200, "/api/queries/nodes", readerKey.ID},
		{"not found", contract.Request{Path: node, Key: reader}, 404, "/api/queries/nodes/{id}", readerKey.ID},
		{"no such path", contract.Request{Path: "/api/nothing", Key: reader}, 404, "none", readerKey.ID},
		{
			"a bad parameter", contract.Request{Path: "/api/queries/nodes?x=1", Key: reader}, 400, "/api/queries/nodes",
			readerKey.ID,
		},
		{"no scope", contract.Request{Path: "/api/queries/edges", Key: reader}, 403, "/api/queries/edges", readerKey.ID},
		{
			"another workspace", contract.Request{Path: "/api/queries/nodes", Key: reader, Workspace: other.String()}, 403,
			"/api/queries/nodes", readerKey.ID,
		},
		{
			"no workspace", contract.Request{Path: "/api/queries/nodes", Key: reader, Workspace: contract.None}, 400,
			"/api/queries/nodes", readerKey.ID,
		},
		{
			"a global route", contract.Request{Path: "/api/me", Key: reader, Workspace: contract.None}, 200, "/api/me",
			readerKey.ID,
		},
		{
			"a wrong method", contract.Request{Method: http.MethodDelete, Path: "/api/me", Key: reader}, 405, "none",
			readerKey.ID,
		},
		{"a revoked key", contract.Request{Path: "/api/queries/nodes", Key: gone}, 401, "none", goneKey.ID},
		{"a head", contract.Request{Method: http.MethodHead, Path: "/api/me", Key: reader}, 200, "/api/me", readerKey.ID},
	} {
		t.Run(c.what, func(t *testing.T) {
			c.q.Header = map[string]string{"User-Agent": "tester/1", "X-Forwarded-For": "198.51.100.9, 203.0.113.7"}
			before := time.Now()
			a := s.DoUnchecked(t, c.q)
			require.Equal(t, c.status, a.Status, "%s", a.Body)
			u := waitForUse(t, s, a.Header.Get("X-Request-Id"), nil)
			require.Equal(t, c.key, *u.KeyID)
			require.Equal(t, s.Workspace, *u.WorkspaceID)
			require.Equal(t, c.status, *u.Status)
			require.Equal(t, c.route, u.Route)
			require.Equal(t, "203.0.113.7", *u.IP)
			require.Equal(t, "tester/1", u.UserAgent)
			require.WithinDuration(t, before, u.Timestamp, auditTimeout)
			require.EqualValues(t, len(a.Body), u.BytesOut)
			require.EqualValues(t, 1, u.Requests)
			if c.q.Method == "" {
				require.Equal(t, http.MethodGet, u.Method)
			}
		})
	}
}

func TestRequestsWithoutAKnownKeyAreCountedByAddress(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{}
	s := contract.Start(t, group.Group)
	const asked = 7
	for range asked {
		require.Equal(t, 401, s.Do(t, contract.Request{Path: "/api/me", Key: apikey.Generate(apikey.Live).Reveal()}).Status)
	}
	s.Do(t, contract.Request{Path: "/healthz", Key: contract.None})
	eventually(t, "what was done is shown", func() bool {
		found, err := auditlog.New(group.Records).Audit(
			t.Context(), auditlog.Filter{Statuses: []auditlog.Span{{From: 401, To: 401}}}, nil, 0, 100,
		)
		require.NoError(t, err)
		counted := 0
		for _, r := range found {
			require.Equal(t, uuid.Nil, r.Key)
			require.Equal(t, "127.0.0.1", r.IP.String())
			counted += int(r.Requests)
		}
		return counted == asked && len(found) < asked
	})
	var mine []audit.Entry
	s.Get(t, "/api/admin/audit?status=401", &mine)
	require.Empty(t, mine, "they are nobody's")
}

func TestAnAuditLogIsReadByItsWorkspaceAlone(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{}
	s := contract.Start(t, group.Group)
	other := s.NewWorkspace(t, apikey.Live)
	theirs := s.NewKey(t, []uuid.UUID{other}, request.Admin)
	both := s.NewKey(t, []uuid.UUID{s.Workspace, other}, request.Admin)
	ask := func(key string, workspace uuid.UUID, path string) *contract.Answer {
		return s.Do(t, contract.Request{Path: path, Key: key, Workspace: workspace.String()})
	}
	own := ask(theirs, other, "/api/admin/usage")
	shared := ask(both, other, "/api/admin/usage")
	mine := ask(s.Admin, s.Workspace, "/api/admin/usage")
	foreign := ask(theirs, s.Workspace, "/api/admin/usage") // 403, recorded for their key
	waitForUse(t, s, mine.RequestID, nil)
	seen := func(key string, workspace uuid.UUID) string {
		return string(ask(key, workspace, "/api/admin/audit").Body)
	}
	eventually(t, "what was done is shown", func() bool {
		body := seen(theirs, other)
		return strings.Contains(body, own.RequestID) && strings.Contains(body, shared.RequestID) &&
			strings.Contains(body, foreign.RequestID)
	})
	require.NotContains(t, seen(theirs, other), mine.RequestID)
	require.NotContains(t, seen(s.Admin, s.Workspace), foreign.RequestID)
	require.NotContains(t, seen(s.Admin, s.Workspace), other.String())

	for _, path := range []string{"/api/admin/audit", "/api/admin/usage"} {
		reader := s.NewKey(t, []uuid.UUID{s.Workspace}, request.ReadNodes, request.ReadLiveData)
		s.Do(t, contract.Request{Path: path, Key: reader}).RequireFailure(
			t, 403, "AUTHORIZATION_ERROR", "Forbidden", map[string]any{"required": []any{"admin"}},
		)
	}
}

func TestAnAuditLogIsFilteredAndPaged(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{}
	s := contract.Start(t, group.Group, contract.GraphReads)
	reader, key := s.AddKey(t, access.NewKey{Mode: apikey.Live, Workspaces: []uuid.UUID{s.Workspace}}, request.ReadNodes)
	want := map[string]bool{}
	var last *contract.Answer
	for range 12 {
		last = s.Do(t, contract.Request{Path: "/api/queries/nodes", Key: reader})
		want[last.RequestID] = true
		s.Do(t, contract.Request{Path: "/api/queries/edges", Key: reader})
	}
	byKey := "keyId=" + key.ID.String()
	page := func(query string) (found []audit.Entry, next string, total int64) {
		a := s.Get(t, "/api/admin/audit?"+query, &found)
		var answer struct{ Meta struct{ NextCursor *string } }
		require.NoError(t, json.Unmarshal(a.Body, &answer))
		if answer.Meta.NextCursor != nil {
			next = *answer.Meta.NextCursor
		}
		return found, next, a.Meta.Total
	}
	eventually(t, "what was done is shown", func() bool {
		found, _, total := page(byKey)
		return len(found) == 24 && total == 24
	})

	seen := map[string]bool{}
	for cursor := ""; ; {
		found, next, total := page(byKey + "&status=2xx&route=/api/queries/*&limit=5" + cursorParam(cursor))
		require.EqualValues(t, 12, total)
		for _, u := range found {
			require.False(t, seen[u.RequestID])
			seen[u.RequestID] = true
		}
		if cursor = next; next == "" {
			break
		}
	}
	require.Equal(t, want, seen)
	for query, count := range map[string]int{
		"status=403": 12, "status=200,403": 24, "status=404": 0, "route=/api/queries/edges": 12, "route=/api/queries": 0,
		"ip=127.0.0.1": 24, "ip=::ffff:127.0.0.1": 24, "ip=10.0.0.1": 0, "from=2026-01-01T00:00:00Z": 24,
		"to=2026-01-01T00:00:00Z":   0,
		"from=9999-01-01T00:00:00Z": 0, "to=1969-01-01T00:00:00Z": 0, "requestId=" + last.RequestID: 1,
		"limit=3&offset=22": 2,
	} {
		found, _, _ := page(byKey + "&" + query)
		require.Len(t, found, count, query)
	}
	found, _, _ := page("keyId=" + uuid.NewString())
	require.Empty(t, found)

	csv := s.Do(t, contract.Request{
		Path: "/api/admin/audit?limit=5&" + byKey, Header: map[string]string{"Accept": "text/csv"},
	})
	lines := strings.Split(strings.TrimSpace(string(csv.Body)), "\n")
	require.Len(t, lines, 6)
	require.Equal(t, strings.TrimSpace(audit.CSVHeader), lines[0])
	next, _, _ := strings.Cut(strings.TrimPrefix(csv.Header.Get("Link"), "<"), ">")
	more := s.Do(t, contract.Request{Path: next + "&format=csv"})
	require.NotContains(t, string(more.Body), strings.Split(lines[5], ",")[1])
	all := s.Do(t, contract.Request{Path: "/api/admin/audit?format=csv&" + byKey})
	require.Len(t, strings.Split(strings.TrimSpace(string(all.Body)), "\n"), 25)

	var rows []struct {
		Group    string
		Status   int
		Requests int
		KeyID    uuid.UUID
	}
	a := s.Get(t, "/api/admin/usage?interval=day&"+byKey, &rows)
	sums := map[int]int{}
	for _, row := range rows { // two days, if the test spans midnight
		require.Equal(t, "queries", row.Group)
		require.Equal(t, key.ID, row.KeyID)
		sums[row.Status] += row.Requests
	}
	require.Equal(t, map[int]int{200: 12, 403: 12}, sums)
	require.EqualValues(t, len(rows), a.Meta.Total)
}

func cursorParam(cursor string) string {
	if cursor == "" {
		return ""
	}
	return "&cursor=" + url.QueryEscape(cursor)
}

// badAuditParams returns parameters of the audit log and of the usage, with the name of the
// invalid parameter.
func badAuditParams() map[string]string {
	return map[string]string{
		"keyId=x": "keyId", "status=99": "status", "status=600": "status", "status=+200": "status", "status=2x": "status",
		"status=": "status", "status=6xx": "status",
		"route=" + strings.Repeat("a", 300): "route", "ip=1.2.3": "ip", "ip=fe80::1%25eth0": "ip", "ip=": "ip",
		"requestId=req_1":   "requestId",
		"requestId=%27OR+1": "requestId", "from=yesterday": "from", "from=2026-02-30T00:00:00Z": "from",
		"to=2026-01-01": "to",
		"from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z": "to", "limit=0": "limit", "offset=-1": "offset", "x=1": "x",
		"ip=1.1.1.1&ip=1.1.1.2": "ip",
	}
}

func TestBadQuestionsToTheAuditLogAreRefused(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{}
	s := contract.Start(t, group.Group)
	for query, field := range badAuditParams() {
		for _, path := range []string{"/api/admin/audit?", "/api/admin/usage?"} {
			a := s.Do(t, contract.Request{Path: path + query})
			require.Equal(t, 400, a.Status, "%s%s: %s", path, query, a.Body)
			require.Equal(t, field, a.Error.Details["field"], path+query)
		}
	}
	for query, field := range map[string]string{
		"format=xml": "format", "cursor=abc": "cursor", "cursor=": "cursor", "format=csv&limit=0": "limit",
	} {
		a := s.Do(t, contract.Request{Path: "/api/admin/audit?" + query})
		require.Equal(t, 400, a.Status, query)
		require.Equal(t, field, a.Error.Details["field"], query)
	}
	for query, field := range map[string]string{
		"interval=week": "interval", "cursor=abc": "cursor", "from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z": "from",
		"interval=day&from=2020-01-01T00:00:00Z": "from", "from=0000-01-01T00:00:00Z": "from",
	} {
		a := s.Do(t, contract.Request{Path: "/api/admin/usage?" + query})
		require.Equal(t, 400, a.Status, query)
		require.Equal(t, field, a.Error.Details["field"], query)
	}
	// Text that has a meaning in SQL or a spreadsheet is matched literally.
	for _, route := range []string{"' OR 1=1 --", "{route:String}", "\\", "%", "=cmd()"} {
		var found []audit.Entry
		s.Get(t, "/api/admin/audit?route="+url.QueryEscape(route), &found)
		require.Empty(t, found)
	}
}

func TestAFullSpoolRefusesRequestsWithAKeyAlone(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{SpoolOnly: true, MaxSpoolBytes: 500}
	s := contract.Start(t, group.Group)
	var a *contract.Answer
	eventually(t, "what was done is shown", func() bool {
		a = s.Do(t, contract.Request{Path: "/api/me"})
		return a.Status != 200
	})
	require.Equal(t, 503, a.Status)
	require.Equal(t, "5", a.Header.Get("Retry-After"))
	require.Equal(t, 401, s.Do(t, contract.Request{Path: "/api/me", Key: contract.None}).Status)
	require.Equal(t, 200, s.Do(t, contract.Request{Path: "/healthz", Key: contract.None}).Status)
	b, err := group.Spool.Next(t.Context(), 1000, 0)
	require.NoError(t, err)
	require.NoError(t, group.Spool.Done(b))
	require.Equal(t, 200, s.Do(t, contract.Request{Path: "/api/me"}).Status)
}

func TestAUseThatCannotBeRecordedIsNotAnswered(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{SpoolOnly: true}
	s := contract.Start(t, group.Group)
	require.NoError(t, group.Spool.Close())
	a := s.Do(t, contract.Request{Path: "/api/me", Header: map[string]string{"Accept-Encoding": "gzip"}})
	require.Equal(t, 503, a.Status)
	require.NotEmpty(t, a.Header.Get("Retry-After"))
	require.NotContains(t, string(a.Body), "spool")
	require.Equal(t, 401, s.Do(t, contract.Request{Path: "/api/me", Key: contract.None}).Status)
}

func TestACommandThatWasAppliedIsNamedWhereItsUseCannotBeRecorded(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{SpoolOnly: true}
	writes := &contract.Commands{}
	s := contract.Start(t, group.Group, writes.Group)
	require.NoError(t, group.Spool.Close())
	a := s.Do(t, contract.Request{Method: "POST", Path: "/api/commands/execute", Body: createNode("a")})
	require.Equal(t, 503, a.Status)
	var refused struct {
		Error struct{ Details struct{ CommandID uuid.UUID } }
	}
	require.NoError(t, json.Unmarshal(a.Body, &refused))
	id := refused.Error.Details.CommandID
	require.NotEqual(t, uuid.Nil, id, "%s", a.Body)
	ref := graphstore.CommandRef{Workspace: s.Workspace, ID: id}
	outcomes, err := s.DB.CommandOutcomes(t.Context(), []graphstore.CommandRef{ref})
	require.NoError(t, err)
	require.NotEmpty(t, outcomes[ref], "it is the one that was applied")
}

func TestAStreamIsRecordedWhenItOpensAndWhenItEnds(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{}
	s := contract.Start(t, group.Group, contract.GraphReads)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/queries/events", nil)
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+s.Admin)
	r.Header.Set("x-workspace-id", s.Workspace.String())
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.Equal(t, 200, response.StatusCode)
	id := response.Header.Get("X-Request-Id")
	open := waitForUse(t, s, id, nil)
	require.Equal(t, "firstByte", open.Until)
	require.NoError(t, response.Body.Close())
	closed := waitForUse(t, s, id, func(u *audit.Entry) bool { return u.Until == "end" })
	require.GreaterOrEqual(t, closed.DurationMS, open.DurationMS)
	require.Equal(t, open.Timestamp, closed.Timestamp)
}

func TestAKeysTextIsNowhereInTheAuditLog(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{}
	s := contract.Start(t, group.Group)
	secret := s.Admin[len("lg_live_")+4:]
	var last *contract.Answer
	for _, agent := range []string{s.Admin, "curl " + s.Admin + " x", strings.Repeat("a", 240) + s.Admin} {
		last = s.Do(t, contract.Request{Path: "/api/me?" + s.Admin, Header: map[string]string{
			"User-Agent": agent, "Referer": s.Admin,
		}})
	}
	// Records that are not sent yet are in the spool, which is checked, too.
	require.NoError(t, filepath.WalkDir(group.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil //nolint:nilerr // a segment that has been sent may be deleted meanwhile
		}
		text, _ := os.ReadFile(path)
		require.NotContains(t, string(text), secret)
		return nil
	}))
	waitForUse(t, s, last.RequestID, nil)
	rows := testenv.QueryClickHouse(t, group.ClickHouseURL, "SELECT * FROM audit FORMAT JSONEachRow")
	require.Contains(t, rows, last.RequestID)
	require.NotContains(t, rows, secret)
	require.NotContains(t, rows, secret[:20])
}
