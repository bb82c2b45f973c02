package textindex_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/pgtest"
)

// BenchmarkTextsAreWrittenAmong100000 indexes new nodes and nodes whose text changes, in an index of
// 100,000 nodes with texts like those of BenchmarkTextRecall. Some of the words have champion lists.
func BenchmarkTextsAreWrittenAmong100000(b *testing.B) {
	const nodes = 500
	w := newGraphFixture(b)
	db, ws := w.db, w.workspace(b)
	r := rand.New(rand.NewPCG(23, 1))
	ids, _ := loadTexts(b, db, ws, zipfTexts(r, 100_000))
	b.Logf("%d champion lists", refreshLists(b, db))
	some := func() (names, texts []string) {
		for _, text := range zipfTexts(r, nodes) {
			words := make([]string, len(text))
			for i, word := range text {
				words[i] = zipfWord(word)
			}
			names, texts = append(names, "new"), append(texts, strings.Join(words, " "))
		}
		return names, texts
	}
	var created, updated []time.Duration
	cpu := time.Duration(0)
	for b.Loop() {
		names, texts := some()
		made := insertTexts(b, db, ws, names, texts)
		began, used := time.Now(), serverCPU(b, db)
		index(b, db, ws, made...)
		created, cpu = append(created, time.Since(began)), cpu+serverCPU(b, db)-used
		_, texts = some()
		from := r.IntN(len(ids) - nodes)
		require.NoError(
			b,
			db.Exec(b.Context(), `UPDATE nodes n SET description = t.text FROM unnest($2::uuid[], $3::text[]) AS t (id, text)
			WHERE n.workspace_id = $1 AND n.id = t.id`, ws, ids[from:from+nodes], texts),
		)
		began, used = time.Now(), serverCPU(b, db)
		index(b, db, ws, ids[from:from+nodes]...)
		updated, cpu = append(updated, time.Since(began)), cpu+serverCPU(b, db)-used
		refreshLists(b, db)
	}
	median := func(took []time.Duration) float64 {
		slices.Sort(took)
		return nodes / took[len(took)/2].Seconds()
	}
	b.ReportMetric(median(created), "created/s")
	b.ReportMetric(median(updated), "updated/s")
	b.ReportMetric(float64(cpu.Microseconds())/float64(2*nodes*b.N), "cpu-µs/node")
}

// serverCPU returns the CPU time, user and system, that the server's processes have used so far for the
// connections of a database. Other load on the machine affects it less than elapsed time.
func serverCPU(b *testing.B, db *pgtest.DB) (sum time.Duration) {
	b.Helper()
	backends, err := db.Strings(
		b.Context(),
		`SELECT pid::text FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`,
	)
	require.NoError(b, err)
	for _, pid := range backends {
		if stat := processStat(pid); stat != nil {
			for _, ticks := range stat[11:13] { // user and system, a hundredth of a second each
				n, err := strconv.Atoi(ticks)
				require.NoError(b, err)
				sum += time.Duration(n) * 10 * time.Millisecond
			}
		}
	}
	return sum
}

// processStat returns the fields of /proc/pid/stat after the name of the process, beginning with its
// state and its parent (proc(5)). It returns nil if the process has ended.
func processStat(pid string) []string {
	text, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}
