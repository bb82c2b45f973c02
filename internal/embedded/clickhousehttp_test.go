package embedded_test

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// urlOf returns the URL of a statement for the database of an address. Without a statement, it is in the body.
func urlOf(t testing.TB, address, statement string) *url.URL {
	t.Helper()
	u, err := url.Parse(address)
	require.NoError(t, err)
	u.RawQuery = url.Values{"database": {strings.TrimPrefix(u.Path, "/")}, "query": {statement}}.Encode()
	u.Path = "/"
	return u
}

func post(t testing.TB, u *url.URL, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(u.String(), "text/plain", strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(raw)
}

func TestClickHouseSpeaksTextFormatsWithCurl(t *testing.T) {
	address := testenv.ClickHouse(t)
	exec := func(statement, query string) string {
		status, body := post(t, urlOf(t, address, query), statement)
		require.Equal(t, http.StatusOK, status, body)
		return body
	}
	exec(`CREATE TABLE t (a Int64, b String DEFAULT 'd') ENGINE = MergeTree ORDER BY a`, "")
	exec("1\tx;y\n2\tz\n", `INSERT INTO t FORMAT TSV`)
	exec(`{"a": 3}`+"\n"+`{"a": 4, "b": "e"}`, `INSERT INTO t (a, b) FORMAT JSONEachRow`)
	exec("INSERT INTO t FORMAT CSV\n5,\"semi;colon\"\n", "")
	exec("INSERT INTO t VALUES (6, 'a;b');", "")
	require.Equal(t, "1\tx;y\n2\tz\n3\td\n4\te\n5\tsemi;colon\n6\ta;b\n", exec("SELECT * FROM t ORDER BY a", ""))
	exec("columns\t7\n", `INSERT INTO t (b, a) FORMAT TSV`)
	require.Equal(t, "columns\n", exec("SELECT b FROM t WHERE a = 7", ""))
	exec("ALTER TABLE t DELETE WHERE a = 7 SETTINGS mutations_sync = 1", "")
	exec("ALTER TABLE t ADD CONSTRAINT allowed CHECK a < 10", "")
	status, body := post(t, urlOf(t, address, "INSERT INTO t FORMAT TSV"), "8\tx\n11\ty\n")
	require.Equal(t, http.StatusInternalServerError, status)
	require.Contains(t, body, "Code: 469.")
	require.Equal(t, "\"a\"\n6\n", exec("SELECT max(a) AS a FROM t FORMAT CSVWithNames", ""))
	require.Contains(t, exec("SELECT number FROM numbers(200000) FORMAT JSONCompact", ""), `"rows": 200000`)
	start := time.Now()
	exec("DROP TABLE t SYNC", "")
	require.Less(t, time.Since(start), 5*time.Second)
}

func TestClickHouseTakesNoInsertFromATruncatedBody(t *testing.T) {
	address := testenv.ClickHouse(t)
	conn := open(t, address)
	require.NoError(t, conn.Exec(t.Context(), `CREATE TABLE t (a UInt64) ENGINE = MergeTree ORDER BY a`))
	u := urlOf(t, address, "INSERT INTO t FORMAT TSV")
	body, writer := io.Pipe()
	go func() {
		_, _ = io.WriteString(writer, strings.Repeat("1\n", 100000))
		_ = writer.CloseWithError(os.ErrClosed)
	}()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, u.String(), body)
	require.NoError(t, err)
	_, err = http.DefaultClient.Do(req)
	require.Error(t, err)
	time.Sleep(300 * time.Millisecond)
	var n uint64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count() FROM t`).Scan(&n))
	require.Zero(t, n)
}

// Of invalid data no row is stored, and the answer has ClickHouse's code. chdb's streaming insert does not report rows
// that violate a constraint, so data are not streamed.
func TestClickHouseStoresNothingOfInvalidNativeData(t *testing.T) {
	address := testenv.ClickHouse(t)
	conn := open(t, address)
	exec := func(statement, body string) (int, string) { return post(t, urlOf(t, address, statement), body) }
	for _, rows := range []int{100, 500_000} {
		table := fmt.Sprintf("native_%d", rows)
		require.NoError(t, conn.Exec(t.Context(), "CREATE TABLE "+table+
			" (a UInt64, CONSTRAINT allowed CHECK a != 1000000) ENGINE = MergeTree ORDER BY a"))
		_, forbidden := exec(fmt.Sprintf("SELECT 1000000 - number AS a FROM numbers(%d) FORMAT Native", rows), "")
		_, data := exec(fmt.Sprintf("SELECT number AS a FROM numbers(%d) FORMAT Native", rows), "")
		insert := "INSERT INTO " + table + " (a) FORMAT Native"
		for name, invalid := range map[string]struct{ statement, body, code string }{
			"cut":              {insert, data[:len(data)-3], "Code: 33."},
			"a tail":           {insert, data + "\xff", "Code: "},
			"a constraint":     {insert, forbidden, "Code: 469."},
			"an unknown table": {"INSERT INTO nowhere (a) FORMAT Native", data, "Code: 60."},
			"another column":   {"INSERT INTO " + table + " (b) FORMAT Native", data, "Code: 16."},
		} {
			status, answer := exec(invalid.statement, invalid.body)
			require.Equal(t, http.StatusInternalServerError, status, name)
			require.Contains(t, answer, invalid.code, name)
		}
		for round := range uint64(2) {
			var n uint64
			require.NoError(t, conn.QueryRow(t.Context(), "SELECT count() FROM "+table).Scan(&n))
			require.Equal(t, round*uint64(rows), n)
			status, answer := exec(insert, data)
			require.Equal(t, http.StatusOK, status, answer)
		}
	}
}
