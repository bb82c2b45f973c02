package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas"
	"github.com/livegraph/livegraph/test/chatmodel"
	"github.com/livegraph/livegraph/test/columnread"
)

// tenants is two workspaces of one server. The first writes canaries, unique texts with a common
// prefix, into every field that can be written. No response to the second may contain a canary or an
// id of the first.
type tenants struct {
	*server
	doc                 *openapi3.T // the OpenAPI specification
	canaryPrefix        string      // the prefix of every canary
	fields              map[string]string
	ids                 map[string]string // ids of the first tenant, with the response that contained each
	sharedIDs           map[string]bool   // ids that belong to both tenants: those of the shared key
	firstKey, secondKey createdKey        // keys with scope admin, one per tenant
	sharedKey           createdKey        // a key for both workspaces, used in the second
	values              map[string]string // some of the ids and canaries, by purpose
	written             map[string]bool   // fields and content types that the first tenant has written
	cursor, streamID    string            // tokens of the first tenant: of a list and of a stream
	checkpoint          string
	tokens              []string // tokens in the second tenant's requests
}

// call is a request of one of the tenants.
type call struct {
	op          string // as in the specification: "GET /api/queries/nodes/{id}"
	path        string // including the query
	contentType string // of the body
	body        string
	header      map[string]string
}

// response is the response to a call.
type response struct {
	status int
	header http.Header
	body   string
}

// TestNothingOfOneTenantIsShownToAnother calls every route of the specification as the second tenant,
// with parameters from the specification and the first tenant's ids and texts. No answer, error,
// event, export, metric or log line about the second tenant contains anything of the first. For the
// first tenant's resources the second receives the same answers as for resources that do not exist,
// and it cannot change them. The test fails for a route that it does not cover.
func TestNothingOfOneTenantIsShownToAnother(t *testing.T) {
	t.Parallel()
	w := startTenants(t)
	w.writeCanaries()
	w.waitForCanaries()
	w.requireAllWritten()
	w.writeAsSecond()
	calls := w.calls()
	w.requireStreamsIsolated(calls)
	before := w.lists(w.firstKey)

	w.requireEachRouteCalled(calls)
	w.requireVisibleToOwner(calls)
	t.Logf("%d requests of each key, and as many about what nobody has", len(calls))
	for _, as := range []createdKey{w.secondKey, w.sharedKey} {
		w.waitForIndex(as, "own-node", "own-node")
		for _, c := range calls {
			w.requireNoLeak(as, c)
		}
	}
	w.requireOtherWorkspaceRefused(calls)
	w.requireOperatorsOnly()
	w.requireNamesReusable()
	w.requireIdempotencyIsolated()
	assert.Equal(t, before, w.lists(w.firstKey), "the first tenant's resources are as they were")
	w.requireAuditLogsIsolated()
	w.requireOperatorOutputClean()
}

func startTenants(t *testing.T) *tenants {
	t.Helper()
	model := chatmodel.Start(t)
	model.Handle(echo)
	w := &tenants{
		server: newServer(
			t, append(append(chatFlags(model), rerankFlags(t)...), "--log-format=json", "--log-level=debug")...,
		),
		canaryPrefix: "kanari" + strings.ReplaceAll(uuid.NewString(), "-", "")[:8],
		fields:       map[string]string{}, ids: map[string]string{}, sharedIDs: map[string]bool{},
		values:  map[string]string{},
		written: map[string]bool{},
	}
	var err error
	w.doc, err = openapi3.NewLoader().LoadFromData(bytes.Clone(schemas.OpenAPI))
	require.NoError(t, err)
	w.Start()
	workspace := func(name string) string {
		var made struct{ ID string }
		require.NoError(t, json.Unmarshal(
			[]byte(w.CLI("workspaces", "create", "--plan", "enterprise", "--name", name, "--json")), &made,
		))
		return made.ID
	}
	a, b := workspace(w.canary("workspace's name")), workspace("second")
	w.firstKey = w.key(a, "--scope", "admin", "--name", w.canary("key's name"))
	w.secondKey = w.key(b, "--scope", "admin")
	w.sharedKey = w.key(b, "--workspace", a, "--scope", "admin")
	w.sharedIDs[w.sharedKey.ID], w.sharedIDs[w.sharedKey.ActorID], w.sharedIDs[b] = true, true, true
	w.recordIDs("the key", w.firstKey.ID+" "+w.firstKey.ActorID+" "+a)
	w.values["workspace"], w.values["key"], w.values["actor"] = a, w.firstKey.ID, w.firstKey.ActorID
	return w
}

// canary returns a new canary for a field.
func (w *tenants) canary(field string) string {
	n := len(w.fields)
	text := w.canaryPrefix + string([]byte{'a' + byte(n/26/26%26), 'a' + byte(n/26%26), 'a' + byte(n%26)})
	w.fields[text] = field
	return text
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|req_[0-9A-Z]{26}`)

// recordIDs records the ids in a response to the first tenant.
func (w *tenants) recordIDs(where, text string) {
	for _, id := range anyID.FindAllString(text, -1) {
		if _, known := w.ids[id]; !known && !w.sharedIDs[id] {
			w.ids[id] = where
		}
	}
}

// leaked returns the canaries and ids of the first tenant in a text, except for those in the request:
// a response may repeat its request.
func (w *tenants) leaked(text, request string) (found []string) {
	lower := strings.ToLower(text)
	for remaining := lower; ; {
		i := strings.Index(remaining, w.canaryPrefix)
		if i < 0 {
			break
		}
		canary := remaining[i:min(len(remaining), i+len(w.canaryPrefix)+3)]
		if !strings.Contains(strings.ToLower(request), canary) {
			found = append(found, canary+": "+w.fields[canary])
		}
		remaining = remaining[i+len(w.canaryPrefix):]
	}
	for _, id := range anyID.FindAllString(text, -1) {
		if where, known := w.ids[id]; known && !strings.Contains(request, id) {
			found = append(found, id+": "+where)
		}
	}
	return found
}

// send sends a request.
func (w *tenants) send(key, workspace string, c call) response {
	w.t.Helper()
	method, _, _ := strings.Cut(c.op, " ")
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.URL()+c.path, strings.NewReader(c.body))
	require.NoError(w.t, err, c.op)
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	if workspace != "" {
		r.Header.Set("X-Workspace-Id", workspace)
	}
	if c.contentType != "" {
		r.Header.Set("Content-Type", c.contentType)
	}
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err, "%s %s", c.op, c.path)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(w.t, err, "%s %s", c.op, c.path)
	return response{answer.StatusCode, answer.Header, string(body) + w.columnText(answer.Header, body)}
}

// columnText returns the rows of a body of columns as JSON, because Parquet is compressed. It is empty for
// other bodies.
func (w *tenants) columnText(header http.Header, body []byte) string {
	w.t.Helper()
	for _, format := range columnread.Formats {
		if header.Get("Content-Type") == format.Media {
			rows, err := json.Marshal(columnread.Rows(w.t, format.Read(w.t, body)))
			require.NoError(w.t, err)
			return string(rows)
		}
	}
	return ""
}

// text returns the headers and the body.
func (h response) text() string {
	var all strings.Builder
	_ = h.header.Write(&all) // writing to memory does not fail
	return all.String() + h.body
}

// content returns the path, the body and the headers.
func (c call) content() string {
	parts := []string{c.path, c.body}
	for _, name := range slices.Sorted(maps.Keys(c.header)) {
		parts = append(parts, c.header[name])
	}
	return strings.Join(parts, "\n")
}

// requireNoLeak sends a call as the second tenant. If it contains an id of the first, it sends the
// call again with ids that do not exist and requires the same answer.
func (w *tenants) requireNoLeak(as createdKey, c call) {
	w.t.Helper()
	if slices.Contains(streamOperations, c.op) || as.ID == w.sharedKey.ID && c.op == "GET /api/me" {
		return // requireStreamsIsolated tests streams; /api/me of the shared key returns both workspaces
	}
	answer := w.send(as.Key, as.workspace, c)
	require.Less(w.t, answer.status, http.StatusInternalServerError, "%s %s: %s", c.op, c.path, answer.body)
	if !assert.Empty(w.t, w.leaked(answer.text(), c.content()), "%s %s %s", c.op, c.path, c.body) {
		return // the other routes are still tested
	}
	if slices.ContainsFunc(w.tokens, func(token string) bool { return strings.Contains(c.path, token) }) {
		assert.Contains(
			w.t, []int{http.StatusBadRequest, http.StatusNotFound}, answer.status, "%s %s: another tenant's token", c.op, c.path,
		)
	}
	if unknown, named := w.withUnknownIDs(c); named {
		assert.Equal(
			w.t, normalize(w.send(as.Key, as.workspace, unknown)), normalize(answer), "%s %s %s", c.op, c.path, c.body,
		)
	}
}

// withUnknownIDs returns the call with the first tenant's ids replaced by unknown ones. It returns
// false if there are none.
func (w *tenants) withUnknownIDs(c call) (other call, named bool) {
	other = c
	swap := func(text string) string {
		return anyID.ReplaceAllStringFunc(text, func(id string) string {
			if _, theirs := w.ids[id]; !theirs || strings.HasPrefix(id, "req_") {
				return id
			}
			named = true
			return uuid.NewString()
		})
	}
	other.path, other.body = swap(c.path), swap(c.body)
	return other, named
}

// normalize returns the text of a response without the parts that differ in every response.
func normalize(h response) string {
	h.header = h.header.Clone()
	for _, name := range []string{
		"Date", "X-Request-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit",
		"Ratelimit-Policy",
	} {
		h.header.Del(name)
	}
	h.body = sortMembers(h.body)
	return anyID.ReplaceAllString(h.text(), "ID")
}

// sortMembers returns JSON with sorted members, and any other text unchanged.
func sortMembers(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	sorted, _ := json.Marshal(value) // value was decoded from JSON
	return string(sorted)
}

// requireVisibleToOwner requires that the first tenant sees its own content on every route that has
// some. Otherwise the test for the second tenant would prove nothing.
func (w *tenants) requireVisibleToOwner(calls []call) {
	w.t.Helper()
	seen := map[string]bool{}
	for _, c := range calls {
		reads := strings.HasPrefix(c.op, "GET ") || strings.HasPrefix(c.op, "POST /api/rag/") && c.op != opSaveQuery ||
			strings.HasPrefix(c.op, "POST /prometheus/") || c.op == opPatterns
		if seen[c.op] || slices.Contains(streamOperations, c.op) || !reads {
			continue // other calls change something
		}
		answer := w.send(w.firstKey.Key, w.firstKey.workspace, c)
		seen[c.op] = answer.status < 300 && len(w.leaked(answer.body, "")) > 0
	}
	for _, op := range []string{
		"GET /api/me", "GET /api/queries/nodes", "GET /api/queries/nodes/{id}", "GET /api/queries/nodes/{id}/neighbors",
		"GET /api/queries/paths", "GET /api/queries/counts", "GET /api/queries/subgraph", opPatterns,
		"GET /api/queries/edges",
		"GET /api/queries/edges/{id}", "GET /api/queries/history", "GET /api/queries/history/{sequence}/edges",
		"GET /api/commands/{id}",
		"GET /api/live-data/sources", "GET /api/live-data/sources/{id}", "GET /api/live-data/query",
		"GET /api/live-data/series",
		"GET /api/admin/audit", "GET /api/admin/usage", opSearch, opHybrid, opAnswer,
		"GET /api/rag/queries", "GET /api/rag/queries/{id}", opRunSaved,
		"GET /api/documents", "GET /api/documents/{id}",
		"GET /api/rules/{name}", "GET /api/alertmanagers",
		"GET /api/webhooks", "GET /api/webhooks/{id}", "GET /api/webhooks/{id}/deliveries",
		"GET /api/analyses", "GET /api/analyses/{id}",
		"GET /prometheus/api/v1/query", "POST /prometheus/api/v1/query", "GET /prometheus/api/v1/query_range",
		"POST /prometheus/api/v1/query_range", "GET /prometheus/api/v1/series", "POST /prometheus/api/v1/series",
		"GET /prometheus/api/v1/labels", "POST /prometheus/api/v1/labels", "GET /prometheus/api/v1/label/{name}/values",
	} {
		require.True(w.t, seen[op], "%s shows its owner nothing", op)
	}
}

// varyingFields matches what differs between two responses about the same state: the request id, the
// status of a source, which depends on the time, and the time of the last evaluation of rules.
var varyingFields = regexp.MustCompile(
	`"requestId":"[^"]*","success"|"status":"(active|stale)"|"lastEvaluation":("[^"]*"|null)`,
)

// lists returns the lists of a tenant's resources.
func (w *tenants) lists(as createdKey) string {
	w.t.Helper()
	var all strings.Builder
	for _, path := range []string{
		"queries/nodes", "queries/edges", "queries/history", "live-data/sources", "live-data/series", "rules", "webhooks",
		"analyses", "rag/queries",
	} {
		answer := w.send(as.Key, as.workspace, call{op: "GET /api/" + path, path: "/api/" + path + "?limit=100"})
		require.Equal(w.t, http.StatusOK, answer.status, "%s", answer.body)
		all.WriteString(varyingFields.ReplaceAllString(sortMembers(answer.body), ""))
	}
	return all.String()
}

// requireOperatorOutputClean checks an export, a list of audit records, the metrics and the log. Lines
// about the second tenant contain no id of the first, and no line contains a tenant's text.
func (w *tenants) requireOperatorOutputClean() {
	t := w.t
	t.Helper()
	file := filepath.Join(t.TempDir(), "export")
	w.CLI("export", "--workspace", w.secondKey.workspace, "--output", file)
	exported, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(exported), "own-node")
	require.Empty(t, w.leaked(string(exported), ""), "an export")
	uses := w.CLI("audit", "--workspace", w.secondKey.workspace, "--limit", "0", "--csv")
	require.Contains(t, uses, w.secondKey.ID)
	require.Empty(t, w.leaked(uses, ""), "a list of uses")

	metrics := w.scrape()
	require.Contains(t, metrics, "livegraph_")
	require.Empty(t, w.leaked(metrics, ""), "the metrics")
	require.NotContains(t, metrics, w.secondKey.workspace, "no workspace is in a label")

	require.Zero(t, w.Stop())
	log, err := os.ReadFile(filepath.Join(filepath.Dir(w.DataDir), "stdout.log"))
	require.NoError(t, err)
	about := 0
	for line := range strings.Lines(string(log)) {
		require.NotContains(t, strings.ToLower(line), w.canaryPrefix, "the log has what a tenant wrote")
		if strings.Contains(line, w.secondKey.workspace) || strings.Contains(line, w.secondKey.ID) {
			about++
			assert.Empty(t, w.leaked(line, ""), "%s", line)
		}
	}
	require.Greater(t, about, 100, "the log tells of the second tenant's requests")
}

// requireAuditLogsIsolated waits until the audit log contains the records of both tenants, and
// requires that each tenant reads only its own.
func (w *tenants) requireAuditLogsIsolated() {
	t := w.t
	t.Helper()
	me := w.send(w.secondKey.Key, w.secondKey.workspace, call{op: "GET /api/me", path: "/api/me"})
	last := me.header.Get("X-Request-Id")
	require.Eventually(t, func() bool {
		records := w.send(
			w.secondKey.Key, w.secondKey.workspace, call{op: "GET /api/admin/audit", path: "/api/admin/audit?limit=100"},
		)
		return strings.Contains(records.body, last)
	}, time.Minute, 50*time.Millisecond)
	for _, path := range []string{
		"/api/admin/audit?limit=100", "/api/admin/audit?format=csv", "/api/admin/audit?format=arrow",
		"/api/admin/audit?format=parquet", "/api/admin/usage?limit=100",
		"/api/admin/usage?interval=day",
	} {
		op := "GET " + strings.SplitN(path, "?", 2)[0]
		mine := w.send(w.secondKey.Key, w.secondKey.workspace, call{op: op, path: path})
		require.Contains(t, mine.body, w.secondKey.ID)
		assert.Empty(t, w.leaked(mine.text(), ""), "%s", path)
		theirs := w.send(w.firstKey.Key, w.firstKey.workspace, call{op: op, path: path + "&keyId=" + w.secondKey.ID})
		require.Equal(t, http.StatusOK, theirs.status)
		require.NotContains(t, theirs.body, w.secondKey.ID, "%s: who knocked in vain is not told of", path)
	}
}
