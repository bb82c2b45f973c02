package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/milvus-io/milvus-sdk-go/v2/client"
	"github.com/milvus-io/milvus-sdk-go/v2/entity"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/kafkatest"
)

// shownPrefix is the number of bytes of a key that may be shown: lg_live_ and four characters.
const shownPrefix = len("lg_live_") + 4

// keyForms returns the substrings to search for: one character more than may be shown, a part of the
// secret, and this part in hexadecimal (the format of bytea in Postgres) and in base64 at every
// alignment.
func keyForms(key string) []string {
	part := key[shownPrefix : shownPrefix+8]
	forms := []string{key[:shownPrefix+1], part, hex.EncodeToString([]byte(part))}
	for shift := range 3 {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat(".", shift) + key[shownPrefix:]))
		forms = append(forms, text[4:len(text)-4]) // without the ends, which depend on adjacent bytes
	}
	return forms
}

// location is content in which keys are searched for. It must contain marker, which shows that the
// content is complete.
type location struct{ name, content, marker string }

// TestAKeysTextIsNowhere creates, uses, rolls, revokes and expires keys, and then searches for them in
// everything that the service and its engines have stored, logged and printed.
func TestAKeysTextIsNowhere(t *testing.T) {
	t.Parallel()
	traces := newCollector(t)
	s := newServer(
		t, "--tracing-endpoint="+traces.URL, "--tracing-headers=x-key=hunter2", "--log-level=debug", "--log-format=json",
	)
	s.Start()
	workspace := s.First.WorkspaceID
	unused := s.key(workspace, "--scope", "admin")
	used := s.key(workspace, "--scope", "admin")
	limited := s.workspace("--plan", "starter")
	expiring := s.key(limited, "--scope", "read:nodes", "--expires", "5s")
	revoked := s.key(limited, "--scope", "admin")
	keys := []string{s.First.AdminKey, unused.Key, used.Key, expiring.Key, revoked.Key}
	source := s.createSource("pump")
	use := func(k createdKey) {
		keys = append(keys, k.Key)
		s.useKey(k, source)
	}
	for _, k := range []createdKey{used, expiring, revoked} {
		use(k)
	}
	use(s.roll(used, "2s"))
	s.CLI("keys", "revoke", revoked.ID)
	use(revoked)
	time.Sleep(keyPropagation)
	use(used) // its grace period is over, or almost
	use(expiring)
	use(createdKey{Key: "lg_live_" + strings.Repeat("x", 38), workspace: workspace})
	s.command(createNode(uuid.New(), "canary-node"), http.StatusCreated, nil)
	require.Eventually(t, func() bool {
		a := s.Do(http.MethodGet, "/api/rag/index/status", nil, http.StatusOK, nil)
		return strings.Contains(string(a.Data), `"status":"ready"`) && strings.Contains(string(a.Data), `"events":0`)
	}, time.Minute, 100*time.Millisecond, "the index has the canary")
	printed := s.CLI("keys", "list", "--json") + s.CLI("doctor", "--json") + s.scrape()
	marked := s.requestWithMarker(used)
	s.requireAudited(map[string]int{marked.RequestID: marked.Status})
	traces.await(t, "a request", func(s *spans.Span) bool { return s.Name == "POST /api/live-data/ingest" })

	locations := []location{
		{"Postgres", s.dumpPostgres(), "canary-node"}, {"ClickHouse", s.dumpClickHouse(), "canary-agent"},
		{"Redis", s.dumpRedis(), limited}, {"Milvus", s.dumpMilvus(), workspace},
		{"topics", s.dumpTopics(), "canary-node"}, {"what commands print", printed, used.ID},
		{"traces", traces.text(), "/api/live-data/ingest"},
	}
	require.Zero(t, s.Stop())
	log, err := os.ReadFile(filepath.Join(filepath.Dir(s.DataDir), "stdout.log"))
	require.NoError(t, err)
	locations = append(
		locations, location{"the log", string(log), used.ID}, location{"files", readFiles(t, s.DataDir), "canary-node"},
	)
	for _, p := range locations {
		require.True(t, strings.Contains(p.content, p.marker), "%s: what is there was not seen", p.name)
		for n, key := range keys {
			for _, form := range keyForms(key) {
				require.False(t, strings.Contains(p.content, form), "key %d is in %s", n, p.name)
			}
		}
	}
}

// useKey sends valid and invalid requests with the key in correct and wrong positions.
func (s *server) useKey(k createdKey, source string) {
	s.t.Helper()
	good, basic := "Bearer "+k.Key, "Basic "+base64.StdEncoding.EncodeToString([]byte("user:"+k.Key))
	for _, q := range []struct {
		method, path, authorization, body string
		header                            http.Header
	}{
		{"GET", "/api/me", good, "", nil},
		{"GET", "/api/queries/nodes", good, "", nil},
		{"GET", "/api/nothing", good, "", nil},
		{"POST", "/api/commands/execute", good, `{"type":"CREATE_NODE","payload":{"name":"n","entityType":"object"}}`, nil},
		{"POST", "/api/commands/execute", good, `{"type":"UNDO"}`, nil},
		{"POST", "/api/live-data/ingest", good, string(batch{0}.body(source)), nil},
		{"POST", "/api/live-data/ingest", good, `{"points":[`, nil},
		{"POST", "/api/rag/search", good, `{"query":"pump"}`, nil},
		{"POST", "/api/v2/write?bucket=" + k.workspace, "Token " + k.Key, "cpu v=1", nil},
		{"POST", "/write?db=" + k.workspace, basic, "cpu v=1", nil},
		{"POST", "/write?u=user&p=" + k.Key, "", "cpu v=1", nil}, // keys in URLs are refused
		{"GET", "/api/me?key=" + k.Key, good, "", nil},
		{"GET", "/api/me?" + k.Key, good, "", nil},
		{"GET", "/api/" + k.Key, good, "", nil},
		{"GET", "/api/queries/nodes/" + k.Key, good, "", nil},
		{k.Key, "/api/me", good, "", nil},
		{"GET", "/healthz?key=" + k.Key, "", "", nil},
		{"GET", "/admin/" + k.Key, "", "", nil},
		{"GET", "/api/me", k.Key, "", nil},
		{"GET", "/api/me", "Bearer " + k.Key + k.Key, "", nil},
		{"GET", "/api/me", "Digest " + k.Key, "", nil},
		{"GET", "/api/queries/nodes", good, "", http.Header{"X-Workspace-Id": {k.Key}}},
		{"GET", "/api/me", good, "", http.Header{
			"User-Agent": {"agent " + k.Key}, "Referer": {"http://x/?" + k.Key}, "Cookie": {"a=" + k.Key},
			"Origin":          {"http://" + k.Key},
			"X-Forwarded-For": {k.Key}, "X-Request-Id": {k.Key}, "Accept": {k.Key}, "Tracestate": {"a=" + k.Key},
			"Traceparent": {"00-" + callersTrace + "-" + callersSpan + "-01"},
		}},
	} {
		r, err := http.NewRequestWithContext(s.t.Context(), q.method, s.URL()+q.path, strings.NewReader(q.body))
		require.NoError(s.t, err)
		r.Header.Set("X-Workspace-Id", k.workspace)
		if q.authorization != "" {
			r.Header.Set("Authorization", q.authorization)
		}
		if strings.HasPrefix(q.body, "{") {
			r.Header.Set("Content-Type", "application/json")
		}
		for name, values := range q.header {
			r.Header[name] = values
		}
		answer, err := http.DefaultClient.Do(r)
		require.NoError(s.t, err, "%s %s", q.method, q.path)
		require.NoError(s.t, answer.Body.Close())
		require.NotEqual(s.t, http.StatusInternalServerError, answer.StatusCode, "%s %s", q.method, q.path)
	}
}

// requestWithMarker sends a request with a unique User-Agent.
func (s *server) requestWithMarker(k createdKey) harness.Answer {
	s.t.Helper()
	a, err := s.TryWith(
		http.Header{"Authorization": {"Bearer " + k.Key}, "User-Agent": {"canary-agent"}}, http.MethodGet,
		"/api/queries/nodes", nil,
	)
	require.NoError(s.t, err)
	return a
}

// scrape returns the metrics.
func (s *server) scrape() string {
	s.t.Helper()
	answer, err := http.Get("http://" + s.Metrics + "/metrics")
	require.NoError(s.t, err)
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	require.NoError(s.t, err)
	return string(text)
}

// dumpPostgres returns all rows of all tables.
func (s *server) dumpPostgres() string {
	s.t.Helper()
	conn, err := pgx.Connect(s.t.Context(), s.RunFile().PostgresURL)
	require.NoError(s.t, err)
	defer func() { _ = conn.Close(s.t.Context()) }()
	rows, err := conn.Query(s.t.Context(), `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables
		WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`)
	require.NoError(s.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	require.Greater(s.t, len(tables), 10)
	var all strings.Builder
	for _, table := range tables {
		rows, err := conn.Query(s.t.Context(), `SELECT r::text FROM `+table+` r`)
		require.NoError(s.t, err)
		texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
		require.NoError(s.t, err, table)
		all.WriteString(table + "\n" + strings.Join(texts, "\n"))
	}
	return all.String()
}

// dumpClickHouse returns all rows of all readable tables, including ClickHouse's own logs.
func (s *server) dumpClickHouse() string {
	s.t.Helper()
	var all strings.Builder
	tables := s.AskClickHouse(`SELECT concat('"', database, '"."', name, '"') FROM system.tables
		WHERE engine LIKE '%MergeTree' OR (database = currentDatabase() AND engine != 'Dictionary') FORMAT TSVRaw`)
	require.NotEmpty(s.t, tables)
	for table := range strings.Lines(tables) {
		table = strings.TrimSpace(table)
		all.WriteString(table + "\n" + s.AskClickHouse("SELECT * FROM "+table+" FORMAT JSONEachRow"))
	}
	return all.String()
}

// dumpRedis returns all keys and values.
func (s *server) dumpRedis() string {
	s.t.Helper()
	ctx := s.t.Context()
	options, err := redis.ParseURL(s.RunFile().RedisURL)
	require.NoError(s.t, err)
	db := redis.NewClient(options)
	defer func() { _ = db.Close() }()
	var all strings.Builder
	for scan := db.Scan(ctx, 0, "*", 1000).Iterator(); scan.Next(ctx); {
		key := scan.Val()
		kind, err := db.Type(ctx, key).Result()
		require.NoError(s.t, err)
		var value any
		switch kind {
		case "hash":
			value, err = db.HGetAll(ctx, key).Result()
		case "list":
			value, err = db.LRange(ctx, key, 0, -1).Result()
		case "set":
			value, err = db.SMembers(ctx, key).Result()
		case "zset":
			value, err = db.ZRange(ctx, key, 0, -1).Result()
		case "string":
			value, err = db.Get(ctx, key).Result()
		default:
			require.Equal(s.t, "none", kind, "a kind that this test does not know; none: it has gone meanwhile")
		}
		require.NoError(s.t, err)
		fmt.Fprintf(&all, "%s %v\n", key, value)
	}
	return all.String()
}

// dumpMilvus returns all fields of all collections except for the vectors.
func (s *server) dumpMilvus() string {
	s.t.Helper()
	ctx := s.t.Context()
	db, err := client.NewClient(ctx, client.Config{Address: s.RunFile().MilvusAddress})
	require.NoError(s.t, err)
	defer func() { _ = db.Close() }()
	conn, err := pgx.Connect(ctx, s.RunFile().PostgresURL)
	require.NoError(s.t, err)
	defer func() { _ = conn.Close(ctx) }()
	// milvus-lite lists none
	rows, err := conn.Query(ctx, `SELECT collection FROM search_indexes WHERE dropped_at IS NULL`)
	require.NoError(s.t, err)
	collections, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(s.t, err)
	var all strings.Builder
	for _, name := range collections {
		described, err := db.DescribeCollection(ctx, name)
		require.NoError(s.t, err)
		var names []string
		for _, field := range described.Schema.Fields {
			if field.DataType != entity.FieldTypeFloatVector {
				names = append(names, field.Name)
			}
		}
		found, err := db.Query(ctx, name, nil, described.Schema.PKFieldName()+` != ""`, names, client.WithLimit(10_000))
		require.NoError(s.t, err)
		for _, column := range found {
			for i := range column.Len() {
				value, err := column.Get(i)
				require.NoError(s.t, err)
				fmt.Fprintf(&all, "%s %v\n", column.Name(), value)
			}
		}
	}
	return all.String()
}

// dumpTopics returns all records of all topics, uncompressed.
func (s *server) dumpTopics() string {
	s.t.Helper()
	var all strings.Builder
	for _, r := range kafkatest.Records(s.t, s.Kafka()) {
		fmt.Fprintf(&all, "%s %s %s\n", r.Topic, r.Key, r.Value)
		for _, h := range r.Headers {
			fmt.Fprintf(&all, "%s %s\n", h.Key, h.Value)
		}
	}
	return all.String()
}

// readFiles returns the content of all files of a directory, except for first-run.json, which contains
// a key for its owner.
func readFiles(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || entry.Name() == "first-run.json" {
			return err
		}
		content, err := os.ReadFile(path)
		all.WriteString(path + "\n")
		all.Write(content)
		return err
	}))
	return all.String()
}
