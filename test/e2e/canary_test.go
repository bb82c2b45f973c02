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
)

// tenants are two workspaces of one server. The first writes canaries, texts that
// nobody else has, into everything that can be written; all of them begin alike.
// Whatever the second is shown must have none of them, and no id of the first.
type tenants struct {
	*server
	doc           *openapi3.T // of the contract
	mark          string      // what every canary begins with
	meaning       map[string]string
	ids           map[string]string // of the first tenant's resources and requests, with what told of them
	spared        map[string]bool   // ids that are of both: the key's that opens both
	theirs, mine  made              // keys with scope admin; mine is the second tenant's
	both          made              // a key that opens both, used by the second's workspace
	pick          map[string]string // some of the ids and canaries by what they are
	writes        map[string]bool   // what of the contract the first tenant has written
	cursor, place string            // tokens of the first tenant's: of a list, of a stream
	checkpoint    string
	tokens        []string // those that the second tenant asks with
}

// call is a request that one of them makes.
type call struct {
	op     string // as the contract has it: "GET /api/queries/nodes/{id}"
	path   string // with its query
	kind   string // Content-Type of the body
	body   string
	header map[string]string
}

// heard is an answer.
type heard struct {
	status int
	header http.Header
	body   string
}

// TestNothingOfOneTenantIsShownToAnother: the second tenant asks every route of the
// contract, with parameters made from the contract and the first tenant's ids and
// texts; whatever comes back, be it an answer, an error, an event, an export, a metric
// or a line of the log about the second, has nothing of the first. Of the first
// tenant's resources the second is told what it is told of those that do not exist, and
// can change none. A route that this test does not know fails it.
func TestNothingOfOneTenantIsShownToAnother(t *testing.T) {
	t.Parallel()
	w := startTenants(t)
	w.plant()
	w.awaitPlanted()
	w.requireAllWritten()
	w.writeOwn()
	calls := w.calls()
	w.requireStreamsOwn(calls)
	before := w.lists(w.theirs)

	w.requireEachRouteAsked(calls)
	w.requireSeenByOwner(calls)
	t.Logf("%d requests of each key, and as many about what nobody has", len(calls))
	for _, as := range []made{w.mine, w.both} {
		w.awaitIndexed(as, "own-node", "own-node")
		for _, c := range calls {
			w.requireNothingShown(as, c)
		}
	}
	w.requireOutsideRefused(calls)
	w.requireOperatorsOnly()
	w.requireFreeNames()
	w.requireOwnIdempotency()
	assert.Equal(t, before, w.lists(w.theirs), "the first tenant's resources are as they were")
	w.requireOwnTrail()
	w.requireOutsideClean()
}

func startTenants(t *testing.T) *tenants {
	t.Helper()
	w := &tenants{
		server:  newServer(t, "--log-format=json", "--log-level=debug"),
		mark:    "kanari" + strings.ReplaceAll(uuid.NewString(), "-", "")[:8],
		meaning: map[string]string{}, ids: map[string]string{}, spared: map[string]bool{}, pick: map[string]string{},
		writes: map[string]bool{},
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
	w.theirs = w.key(a, "--scope", "admin", "--name", w.canary("key's name"))
	w.mine = w.key(b, "--scope", "admin")
	w.both = w.key(b, "--workspace", a, "--scope", "admin")
	w.spared[w.both.ID], w.spared[w.both.ActorID], w.spared[b] = true, true, true
	w.remember("the key", w.theirs.ID+" "+w.theirs.ActorID+" "+a)
	w.pick["workspace"], w.pick["key"], w.pick["actor"] = a, w.theirs.ID, w.theirs.ActorID
	return w
}

// canary makes a new one for a field.
func (w *tenants) canary(field string) string {
	n := len(w.meaning)
	text := w.mark + string([]byte{'a' + byte(n/26/26%26), 'a' + byte(n/26%26), 'a' + byte(n%26)})
	w.meaning[text] = field
	return text
}

var anyID = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|req_[0-9A-Z]{26}`)

// remember takes note of the ids in what the first tenant was told.
func (w *tenants) remember(where, text string) {
	for _, id := range anyID.FindAllString(text, -1) {
		if _, known := w.ids[id]; !known && !w.spared[id] {
			w.ids[id] = where
		}
	}
}

// foreign returns what of the first tenant is in a text, as far as it is not in what was
// asked: what somebody sends may come back to him.
func (w *tenants) foreign(text, asked string) (found []string) {
	lower := strings.ToLower(text)
	for rest := lower; ; {
		i := strings.Index(rest, w.mark)
		if i < 0 {
			break
		}
		canary := rest[i:min(len(rest), i+len(w.mark)+3)]
		if !strings.Contains(strings.ToLower(asked), canary) {
			found = append(found, canary+": "+w.meaning[canary])
		}
		rest = rest[i+len(w.mark):]
	}
	for _, id := range anyID.FindAllString(text, -1) {
		if where, known := w.ids[id]; known && !strings.Contains(asked, id) {
			found = append(found, id+": "+where)
		}
	}
	return found
}

// say makes a request.
func (w *tenants) say(key, workspace string, c call) heard {
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
	if c.kind != "" {
		r.Header.Set("Content-Type", c.kind)
	}
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	answer, err := http.DefaultClient.Do(r)
	require.NoError(w.t, err, "%s %s", c.op, c.path)
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	require.NoError(w.t, err, "%s %s", c.op, c.path)
	return heard{answer.StatusCode, answer.Header, string(body)}
}

// text is all of an answer.
func (h heard) text() string {
	var all strings.Builder
	_ = h.header.Write(&all) // to memory
	return all.String() + h.body
}

// asked is all of a request.
func (c call) asked() string {
	parts := []string{c.path, c.body}
	for _, name := range slices.Sorted(maps.Keys(c.header)) {
		parts = append(parts, c.header[name])
	}
	return strings.Join(parts, "\n")
}

// requireNothingShown asks as the second tenant, and asks once more for something that
// does not exist, where an id of the first was named: both must be answered alike.
func (w *tenants) requireNothingShown(as made, c call) {
	w.t.Helper()
	if slices.Contains(lasting, c.op) || as.ID == w.both.ID && c.op == "GET /api/me" {
		return // those are heard by themselves, and this one is told of both
	}
	answer := w.say(as.Key, as.workspace, c)
	require.Less(w.t, answer.status, http.StatusInternalServerError, "%s %s: %s", c.op, c.path, answer.body)
	if !assert.Empty(w.t, w.foreign(answer.text(), c.asked()), "%s %s %s", c.op, c.path, c.body) {
		return // and on: the other routes are worth knowing, too
	}
	if slices.ContainsFunc(w.tokens, func(token string) bool { return strings.Contains(c.path, token) }) {
		assert.Contains(
			w.t, []int{http.StatusBadRequest, http.StatusNotFound}, answer.status, "%s %s: another tenant's token", c.op, c.path,
		)
	}
	if nobodys, named := w.ofNobody(c); named {
		assert.Equal(w.t, plain(w.say(as.Key, as.workspace, nobodys)), plain(answer), "%s %s %s", c.op, c.path, c.body)
	}
}

// ofNobody is the same call about ids that nobody has; false if it names none of the
// first tenant's.
func (w *tenants) ofNobody(c call) (other call, named bool) {
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

// plain is an answer without what differs between any two.
func plain(h heard) string {
	h.header = h.header.Clone()
	for _, name := range []string{
		"Date", "X-Request-Id", "X-Ratelimit-Limit", "X-Ratelimit-Remaining", "X-Ratelimit-Reset", "Ratelimit",
		"Ratelimit-Policy",
	} {
		h.header.Del(name)
	}
	h.body = inOrder(h.body)
	return anyID.ReplaceAllString(h.text(), "ID")
}

// inOrder returns JSON with its members in order; anything else as it is.
func inOrder(text string) string {
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		return text
	}
	sorted, _ := json.Marshal(value) // it was read from JSON
	return string(sorted)
}

// requireSeenByOwner asks as the first tenant: it sees something of its own on every
// route that has content. Else the second would see nothing either way.
func (w *tenants) requireSeenByOwner(calls []call) {
	w.t.Helper()
	seen := map[string]bool{}
	for _, c := range calls {
		reads := strings.HasPrefix(c.op, "GET ") || strings.HasPrefix(c.op, "POST /api/rag/")
		if seen[c.op] || slices.Contains(lasting, c.op) || !reads {
			continue // the others change something
		}
		answer := w.say(w.theirs.Key, w.theirs.workspace, c)
		seen[c.op] = answer.status < 300 && len(w.foreign(answer.body, "")) > 0
	}
	for _, op := range []string{
		"GET /api/me", "GET /api/queries/nodes", "GET /api/queries/nodes/{id}", "GET /api/queries/nodes/{id}/neighbors",
		"GET /api/queries/edges",
		"GET /api/queries/edges/{id}", "GET /api/queries/history", "GET /api/queries/history/{sequence}/edges",
		"GET /api/commands/{id}",
		"GET /api/live-data/sources", "GET /api/live-data/sources/{id}", "GET /api/live-data/query",
		"GET /api/live-data/series",
		"GET /api/admin/audit", "GET /api/admin/usage", "POST /api/rag/search", "POST /api/rag/hybrid-search",
	} {
		require.True(w.t, seen[op], "%s shows its owner nothing", op)
	}
}

// varying is what differs between two answers about the same: the id of the request
// itself, and whether a source has been silent for long.
var varying = regexp.MustCompile(`"requestId":"[^"]*","success"|"status":"(active|stale)"`)

// lists is what the lists of a tenant's resources say.
func (w *tenants) lists(as made) string {
	w.t.Helper()
	var all strings.Builder
	for _, path := range []string{
		"queries/nodes", "queries/edges", "queries/history", "live-data/sources", "live-data/series",
	} {
		answer := w.say(as.Key, as.workspace, call{op: "GET /api/" + path, path: "/api/" + path + "?limit=100"})
		require.Equal(w.t, http.StatusOK, answer.status, "%s", answer.body)
		all.WriteString(varying.ReplaceAllString(inOrder(answer.body), ""))
	}
	return all.String()
}

// requireOutsideClean looks at what operators hand out or show to all: an export, the
// metrics, and the log, where what is about the second tenant names nothing of the first,
// and nothing has what a tenant wrote.
func (w *tenants) requireOutsideClean() {
	t := w.t
	t.Helper()
	file := filepath.Join(t.TempDir(), "export")
	w.CLI("export", "--workspace", w.mine.workspace, "--output", file)
	exported, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(exported), "own-node")
	require.Empty(t, w.foreign(string(exported), ""), "an export")
	uses := w.CLI("audit", "--workspace", w.mine.workspace, "--limit", "0", "--csv")
	require.Contains(t, uses, w.mine.ID)
	require.Empty(t, w.foreign(uses, ""), "a list of uses")

	metrics := w.scrape()
	require.Contains(t, metrics, "livegraph_")
	require.Empty(t, w.foreign(metrics, ""), "the metrics")
	require.NotContains(t, metrics, w.mine.workspace, "no workspace is in a label")

	require.Zero(t, w.Stop())
	log, err := os.ReadFile(filepath.Join(filepath.Dir(w.DataDir), "stdout.log"))
	require.NoError(t, err)
	about := 0
	for line := range strings.Lines(string(log)) {
		require.NotContains(t, strings.ToLower(line), w.mark, "the log has what a tenant wrote")
		if strings.Contains(line, w.mine.workspace) || strings.Contains(line, w.mine.ID) {
			about++
			assert.Empty(t, w.foreign(line, ""), "%s", line)
		}
	}
	require.Greater(t, about, 100, "the log tells of the second tenant's requests")
}

// requireOwnTrail waits until both tenants' uses are in the audit log, and finds in each
// one's only its own.
func (w *tenants) requireOwnTrail() {
	t := w.t
	t.Helper()
	last := w.say(w.mine.Key, w.mine.workspace, call{op: "GET /api/me", path: "/api/me"}).header.Get("X-Request-Id")
	require.Eventually(t, func() bool {
		return strings.Contains(
			w.say(w.mine.Key, w.mine.workspace, call{op: "GET /api/admin/audit", path: "/api/admin/audit?limit=100"}).body, last,
		)
	}, time.Minute, 50*time.Millisecond)
	for _, path := range []string{
		"/api/admin/audit?limit=100", "/api/admin/audit?format=csv", "/api/admin/usage?limit=100",
		"/api/admin/usage?interval=day",
	} {
		op := "GET " + strings.SplitN(path, "?", 2)[0]
		mine := w.say(w.mine.Key, w.mine.workspace, call{op: op, path: path})
		require.Contains(t, mine.body, w.mine.ID)
		assert.Empty(t, w.foreign(mine.text(), ""), "%s", path)
		theirs := w.say(w.theirs.Key, w.theirs.workspace, call{op: op, path: path + "&keyId=" + w.mine.ID})
		require.Equal(t, http.StatusOK, theirs.status)
		require.NotContains(t, theirs.body, w.mine.ID, "%s: who knocked in vain is not told of", path)
	}
}
