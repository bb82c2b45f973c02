package contract_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/audit"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/platform/apikey"
	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/columnread"
	"github.com/livegraph/livegraph/test/contract"
)

// columnPage is a page of a list as columns.
type columnPage struct {
	schema *arrow.Schema
	rows   []map[string]any
	next   string // the path of the next page
}

// asColumns requests a path in a format of columns.
func asColumns(t *testing.T, s *contract.Server, path string, format columnread.Format) columnPage {
	t.Helper()
	a := s.Do(t, contract.Request{Path: path, Header: map[string]string{"Accept": format.Media}})
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	require.Equal(t, format.Media, a.Header.Get("Content-Type"))
	require.Contains(t, a.Header.Values("Vary"), "Accept")
	batches := format.Read(t, a.Body)
	return columnPage{schema: batches[0].Schema(), rows: columnread.Rows(t, batches), next: nextLink(t, a)}
}

// jsonPage returns the items of a page in JSON, with objects as texts, and the cursor of the next page.
func jsonPage(t *testing.T, s *contract.Server, path string) (items []map[string]any, next *string) {
	t.Helper()
	a := s.Do(t, contract.Request{Path: path})
	require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
	require.NoError(t, json.Unmarshal(a.Data, &items))
	for _, item := range items {
		for name, value := range item {
			if object, ok := value.(map[string]any); ok {
				text, err := json.Marshal(object)
				require.NoError(t, err)
				item[name] = string(text)
			}
		}
	}
	return items, nextCursor(t, a)
}

// normalizeObjects formats the JSON in columns that are objects in the contract as json.Marshal does.
func normalizeObjects(t *testing.T, rows []map[string]any, fields map[string]*openapi3.Schema) {
	t.Helper()
	for _, row := range rows {
		for name, field := range fields {
			if field.Type.Is("object") {
				var object map[string]any
				require.NoError(t, json.Unmarshal([]byte(row[name].(string)), &object), name)
				text, err := json.Marshal(object)
				require.NoError(t, err)
				row[name] = string(text)
			}
		}
	}
}

// fieldsOf returns the fields of an item that the contract promises.
func fieldsOf(s *contract.Server, path string) map[string]*openapi3.Schema {
	answer := s.ContractOperations()["GET "+path].Responses.Value("200").Value.Content["application/json"].Schema.Value
	item := answer.Properties["data"].Value.Items.Value
	fields := map[string]*openapi3.Schema{}
	for _, name := range item.Required {
		fields[name] = item.Properties[name].Value
	}
	return fields
}

// requireSchema requires a column for each field of the contract, of the same type and nullability.
func requireSchema(t *testing.T, schema *arrow.Schema, fields map[string]*openapi3.Schema) {
	t.Helper()
	require.Equal(t, len(fields), schema.NumFields())
	for _, column := range schema.Fields() {
		field := fields[column.Name]
		require.NotNil(t, field, column.Name)
		require.Equal(t, field.Nullable, column.Nullable, column.Name)
		allowed := []arrow.Type{arrow.STRING, arrow.DICTIONARY}
		switch {
		case field.Type.Is("integer"):
			allowed = []arrow.Type{arrow.INT64}
		case field.Type.Is("number"):
			allowed = []arrow.Type{arrow.FLOAT64}
		case field.Format == "date-time":
			allowed = []arrow.Type{arrow.TIMESTAMP}
		}
		require.Contains(t, allowed, column.Type.ID(), column.Name)
	}
}

// typesOfPage are the types of columns in Arrow by their names in docs/columns.md.
var typesOfPage = map[string]string{
	"text": "utf8", "JSON": "utf8", "names": "dictionary<values=utf8, indices=int32, ordered=false>",
	"time": "timestamp[us, tz=UTC]", "integer": "int64", "number": "float64",
}

// requireDocumented requires that docs/columns.md has the columns of a path, in their order.
func requireDocumented(t *testing.T, path string, schema *arrow.Schema) {
	t.Helper()
	page, err := os.ReadFile("../../docs/columns.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "\n`GET "+path+"`\n")
	require.True(t, found, path)
	table, _, _ = strings.Cut(table, "\n#")
	documented := regexp.MustCompile("(?m)^\\| `(\\w+)` \\| (\\w+) \\| (yes )?\\|$").FindAllStringSubmatch(table, -1)
	require.Len(t, documented, schema.NumFields())
	for i, column := range schema.Fields() {
		require.Equal(t, documented[i][1], column.Name)
		require.Equal(t, typesOfPage[documented[i][2]], column.Type.String(), column.Name)
		require.Equal(t, documented[i][3] != "", column.Nullable, column.Name)
	}
}

// requireSameList compares the pages of a list from an offset as columns with those of the same requests in JSON, and
// returns the number of items. query must select a list that does not change.
func requireSameList(t *testing.T, s *contract.Server, path, query string, limit, offset int) (count int) {
	t.Helper()
	fields := fieldsOf(s, path)
	requireDocumented(t, path, asColumns(t, s, path+"?limit=1", columnread.Formats["arrow"]).schema)
	start := fmt.Sprintf("%s?limit=%d&%s", path, limit, query)
	for _, format := range columnread.Formats {
		count = 0
		columns := fmt.Sprintf("%s&offset=%d", start, offset)
		inJSON := columns
		for {
			want, cursor := jsonPage(t, s, inJSON)
			got := asColumns(t, s, columns, format)
			requireSchema(t, got.schema, fields)
			normalizeObjects(t, got.rows, fields)
			require.Len(t, got.rows, len(want))
			for i := range want {
				require.Equal(t, want[i], got.rows[i], "%s %s", columns, format.Media)
			}
			count += len(want)
			require.Equal(t, cursor == nil, got.next == "", "a next page of %s", columns)
			if cursor == nil {
				break
			}
			columns, inJSON = got.next, start+"&cursor="+url.QueryEscape(*cursor)
			require.NotContains(t, columns, "offset=")
			// A cursor continues a list in any format.
			other, _ := jsonPage(t, s, columns)
			same, _ := jsonPage(t, s, inJSON)
			require.Equal(t, same, other)
		}
	}
	return count
}

func TestNodesAndEdgesAreListedAsColumns(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	for _, path := range []string{"/api/queries/nodes", "/api/queries/edges"} {
		require.Zero(t, requireSameList(t, g.Server, path, "", 50, 0), "an empty list")
	}
	stranger := g.NewWorkspace(t, "live")
	g.node(t, stranger, "secret", "object", `{}`)
	texts := append([]string{"plain", "\ttab\r\nline", "\u0001", `{"a":1}`, "null"}, injected...)
	r := rand.New(rand.NewPCG(1, 2))
	var nodes []string
	for i, text := range texts {
		properties := `{}`
		if i%3 > 0 {
			properties = quoted(t, map[string]any{
				text: []any{text, 1.5, true, map[string]any{text: -0.25}}, "n": r.Int64N(1 << 53),
				"last": texts[r.IntN(len(texts))],
			})
		}
		id := g.node(t, g.Workspace, text, []string{"object", "actor", "concept"}[r.IntN(3)], properties)
		if i%2 == 0 {
			g.exec(t, `UPDATE nodes SET description = $2, version = $3, updated_at = now() WHERE id = $1`,
				id, text+"\n"+text, 1<<40+i)
		}
		nodes = append(nodes, id)
		if i%5 == 0 {
			g.exec(t, `UPDATE nodes SET description = '' WHERE id = $1`, id)
		}
		source := nodes[r.IntN(len(nodes))]
		edge := g.edge(t, g.Workspace, source, id, string([]rune(text)[:min(len([]rune(text)), 128)]), properties)
		g.exec(t, `UPDATE edges SET version = $2, updated_at = now() WHERE id = $1`, edge, 2+i)
	}
	for _, query := range []string{"", "sort=-updatedAt", "sort=version,-createdAt", "property.last=null"} {
		for _, path := range []string{"/api/queries/nodes", "/api/queries/edges"} {
			count := requireSameList(t, g.Server, path, query, 7, 0)
			if query != "property.last=null" {
				require.Equal(t, len(texts), count)
			}
			requireSameList(t, g.Server, path, query, 7, 3)
		}
	}
	for i, text := range texts[:8] {
		require.Positive(t, requireSameList(t, g.Server, "/api/queries/nodes", "name="+url.QueryEscape(text), 10, 0), i)
	}
}

// TestAPageOfColumnsHasMoreItemsThanOneOfJSON reads more items than a record batch has, and more than a page of JSON.
func TestAPageOfColumnsHasMoreItemsThanOneOfJSON(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	const count = 10_050
	g.exec(t, `INSERT INTO nodes (workspace_id, id, name, entity_type, properties, created_at, updated_at, version,
			changed_by, created_by)
		SELECT $1, gen_random_uuid(), 'node ' || i, 'object', '{}', at, at, i, 1, 1 FROM (
			SELECT i, '2026-11-21T07:40:08Z'::timestamptz + i * interval '1 microsecond' AS at
			FROM generate_series(1, $2::int) i
		) s`, g.Workspace, count)
	g.exec(t, `INSERT INTO graph_totals VALUES ($1, 1, 'object', $2)`, g.Workspace, count)
	for _, query := range []string{"", "name=node", "sort=-version"} {
		for _, format := range columnread.Formats {
			var versions []float64
			pages := 0
			for path := "/api/queries/nodes?limit=10001&" + query; path != ""; pages++ {
				page := asColumns(t, g.Server, path, format)
				for _, row := range page.rows {
					versions = append(versions, row["version"].(float64))
				}
				path = page.next
			}
			require.Equal(t, 2, pages, "a limit over 10,000 is clamped")
			require.Len(t, versions, count)
			for i, version := range versions {
				want := i + 1
				if query == "sort=-version" {
					want = count - i
				}
				require.EqualValues(t, want, version)
			}
		}
	}
	require.EqualValues(t, 100, g.Get(t, "/api/queries/nodes?limit=10000", &[]resource{}).Meta.Limit)
}

// TestAPageOfLargeNodesEndsEarly requires that pages of the largest nodes are bounded in size.
func TestAPageOfLargeNodesEndsEarly(t *testing.T) {
	t.Parallel()
	g := startGraph(t)
	const count = 300
	text := strings.Repeat("é", 16<<10)
	for i := range count {
		id := g.node(t, g.Workspace, fmt.Sprint(i), "object", quoted(t, map[string]any{"text": text[:30<<10]}))
		g.exec(t, `UPDATE nodes SET description = $2 WHERE id = $1`, id, text+text)
	}
	var names []any
	pages := 0
	for path := "/api/queries/nodes?format=arrow&limit=10000"; path != ""; pages++ {
		a := g.Do(t, contract.Request{Path: path})
		require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
		require.Less(t, len(a.Body), 14<<20)
		for _, row := range columnread.Rows(t, columnread.Formats["arrow"].Read(t, a.Body)) {
			names = append(names, row["name"])
		}
		path = nextLink(t, a)
	}
	require.Equal(t, 3, pages)
	require.Len(t, names, count)
	for i, name := range names {
		require.Equal(t, fmt.Sprint(i), name)
	}
}

func TestSeriesAreListedAsColumns(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	const path = "/api/live-data/series"
	require.Zero(t, requireSameList(t, l.Server, path, "", 50, 0), "an empty list")
	var list []source
	for i, text := range injected {
		body := map[string]any{"name": text}
		if i%2 == 0 {
			body["unit"] = string([]rune(text)[:min(len([]rune(text)), 64)])
		}
		made := l.createSource(t, quoted(t, body))
		list = append(list, made)
		tags := map[string]string{"k": text, `"` + fmt.Sprint(i): "", "é\\": text}
		key := seriesKey{source: made.ID, metric: text, tags: tags, text: i%3 == 0}
		switch {
		case i%5 == 0:
			l.register(t, l.Workspace, seriesKey{source: made.ID, metric: text}) // without points
		case key.text:
			l.store(t, l.Workspace, key, sample{microsAt(0), text, 1}, sample{microsAt(time.Microsecond), "", 1})
		default:
			l.store(t, l.Workspace, key, sample{microsAt(time.Duration(i)), float64(i), 1})
		}
	}
	require.Equal(t, len(injected), requireSameList(t, l.Server, path, "", 7, 0))
	requireSameList(t, l.Server, path, "", 7, 5)
	require.Positive(t, requireSameList(t, l.Server, path, "sourceId="+list[1].ID, 1, 0))

	// A page as columns may have more items than a page in JSON.
	for i := range 150 {
		l.register(t, l.Workspace, seriesKey{source: list[0].ID, metric: "m", tags: map[string]string{"i": fmt.Sprint(i)}})
	}
	for _, format := range columnread.Formats {
		all := asColumns(t, l.Server, path+"?limit=10000", format)
		require.Len(t, all.rows, len(injected)+150)
		require.Empty(t, all.next)
	}
}

func TestTheAuditLogIsListedAsColumns(t *testing.T) {
	t.Parallel()
	group := &contract.Audit{}
	s := contract.Start(t, group.Group, contract.GraphReads)
	reader, key := s.AddKey(t, access.NewKey{Mode: apikey.Live, Workspaces: []uuid.UUID{s.Workspace}}, request.ReadNodes)
	agents := []string{"", "=1+1", `"quoted", and 'more'`, "é\tü", strings.Repeat("a", 300), "\xff\xfe", "null"}
	for _, agent := range agents {
		for _, path := range []string{"/api/queries/nodes", "/api/queries/edges", "/api/nothing"} {
			s.DoUnchecked(t, contract.Request{Path: path, Key: reader, Header: map[string]string{"User-Agent": agent}})
		}
	}
	const path = "/api/admin/audit"
	byKey := "keyId=" + key.ID.String()
	eventually(t, "what was done is shown", func() bool {
		var found []audit.Entry
		s.Get(t, path+"?limit=100&"+byKey, &found)
		return len(found) == 3*len(agents)
	})
	require.Equal(t, 3*len(agents), requireSameList(t, s, path, byKey, 4, 0))
	require.Equal(t, len(agents), requireSameList(t, s, path, byKey+"&status=403", 4, 0))
	require.Zero(t, requireSameList(t, s, path, "keyId="+uuid.NewString(), 4, 0))
	for _, format := range columnread.Formats {
		page := asColumns(t, s, path+"?"+byKey, format)
		require.Len(t, page.rows, 3*len(agents), "without a limit a page has up to 10,000 records, as in CSV")
		require.Equal(t, "timestamp", page.schema.Field(0).Name, "the order is that of CSV")
	}
	s.Do(t, contract.Request{Path: path + "?format=arrow&limit=0"}).
		RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": "limit"})
}

// TestListsInOtherFormatsAreNegotiatedAsQueriesAre compares the negotiation of the lists with that of queries.
func TestListsInOtherFormatsAreNegotiatedAsQueriesAre(t *testing.T) {
	t.Parallel()
	live := &contract.LiveData{}
	records := &contract.Audit{}
	s := contract.Start(t, live.Group, records.Group, contract.GraphReads)
	none := s.NewKey(t, []uuid.UUID{s.Workspace}, request.WriteNodes)
	paths := []string{"/api/live-data/series", "/api/queries/nodes", "/api/queries/edges", "/api/admin/audit"}
	for _, accept := range []string{
		"", "*/*", "image/png", "application/vnd.apache.arrow.file", "application/vnd.apache.arrow.stream;q=0",
		"application/vnd.apache.arrow.stream", "APPLICATION/VND.APACHE.PARQUET",
		"text/html, application/vnd.apache.parquet;q=0.1",
		"application/json, application/vnd.apache.parquet;q=0.9", "application/vnd.apache.parquet;q=x", ";;;,\"",
	} {
		header := map[string]string{"Accept": accept}
		want := s.Do(t, contract.Request{Path: "/api/live-data/query", Header: header})
		require.Equal(t, http.StatusOK, want.Status)
		for _, path := range paths {
			a := s.Do(t, contract.Request{Path: path, Header: header})
			require.Equal(t, http.StatusOK, a.Status, "%s", a.Body)
			require.Equal(t, want.Header.Get("Content-Type"), a.Header.Get("Content-Type"), "%s %s", path, accept)
			require.Equal(t, want.Header.Values("Vary"), a.Header.Values("Vary"), "%s %s", path, accept)
		}
	}
	header := map[string]string{"Accept": "application/vnd.apache.parquet"}
	for _, path := range paths {
		for query, field := range map[string]string{
			"format=xml": "format", "format=": "format", "format=ndjson": "format", "format=arrow&format=arrow": "format",
			"limit=0": "limit", "limit=-1": "limit", "limit=1.5": "limit", "cursor=x": "cursor", "x=1": "x",
			"cursor=x&offset=1": "cursor", "format=ARROW": "format",
		} {
			a := s.Do(t, contract.Request{Path: path + "?" + query, Header: header})
			a.RequireFailure(t, http.StatusBadRequest, validation, "", map[string]any{"field": field})
		}
		a := s.Do(t, contract.Request{Path: path + "?format=arrow", Key: none, Header: header})
		require.Equal(t, http.StatusForbidden, a.Status, "%s: %s", path, a.Body)
		a = s.Do(t, contract.Request{Path: path + "?format=arrow"})
		require.NotContains(t, a.Header.Values("Vary"), "Accept", "the parameter selects the format alone")
		require.Equal(t, "application/vnd.apache.arrow.stream", a.Header.Get("Content-Type"))
	}
}
