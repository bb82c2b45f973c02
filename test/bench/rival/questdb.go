package rival

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/livegraph/livegraph/test/engines/jars"
	"github.com/livegraph/livegraph/test/harness"
)

// questPOM declares QuestDB's jar for Maven.
//
//go:embed assets/pom.xml
var questPOM string

// questSums pins the jar by hash.
//
//go:embed assets/jars.sha256
var questSums string

// questOptions are the JVM options of QuestDB's start script.
var questOptions = []string{"-XX:+UseParallelGC", "-Dnoebug"}

// questSettings disable unused listeners and telemetry. A table's files grow in steps of one page for each column:
// with the default of 16 MB, tables with hundreds of columns fill the disk.
const questSettings = `http.bind.to=%s
http.min.enabled=false
line.tcp.enabled=false
pg.enabled=false
telemetry.enabled=false
cairo.writer.data.append.page.size=1M
`

// questPoll is the interval of counts, which are cheap in QuestDB.
const questPoll = 20 * time.Millisecond

// QuestDB starts QuestDB in its own directory. It requires Java 17, and Maven for the first start.
func QuestDB(tb testing.TB) (*Rival, error) {
	tb.Helper()
	set := jars.Set{
		Name: "questdb", Title: "QuestDB", POM: questPOM, Sums: questSums, Size: "28 MB",
	}
	quest, err := set.Install(tb.Context(), nil)
	if err != nil {
		return nil, err
	}
	dir, address := tb.TempDir(), harness.FreeAddress(tb)
	if err := os.Mkdir(filepath.Join(dir, "conf"), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(
		filepath.Join(dir, "conf", "server.conf"), fmt.Appendf(nil, questSettings, address), 0o600,
	); err != nil {
		return nil, err
	}
	base := "http://" + address
	r := &Rival{
		Name: "questdb", Version: questVersion(), Lines: base + "/write", base: base, seen: questRows, poll: questPoll,
	}
	return r, r.run(tb, quest.Command(dir, questOptions, "io.questdb.ServerMain", "-d", dir), "/ping")
}

// questVersion returns the version in the jar's name.
func questVersion() string {
	_, name, _ := strings.Cut(strings.TrimSpace(questSums), "  questdb-")
	return strings.TrimSuffix(name, ".jar")
}

// questRows counts the rows of the measurements' tables. A table exists from its first commit on.
func questRows(ctx context.Context, r *Rival, load Load) (found, all int64, err error) {
	all = load.Points / load.PerLine
	counts := make([]string, len(load.Measurements))
	for i, measurement := range load.Measurements {
		counts[i] = fmt.Sprintf(`SELECT count() n FROM '%s' WHERE timestamp >= '%s' AND timestamp < '%s'`,
			measurement, load.From.UTC().Format(time.RFC3339), load.To.UTC().Format(time.RFC3339))
	}
	answer, err := r.get(ctx, "/exec", url.Values{"query": {
		"SELECT sum(n) FROM (" + strings.Join(counts, " UNION ALL ") + ")",
	}})
	if err != nil && strings.Contains(err.Error(), "table does not exist") {
		return 0, all, nil
	}
	if err != nil {
		return 0, all, err
	}
	var counted struct{ Dataset [][]int64 }
	if err := json.Unmarshal(answer, &counted); err != nil || len(counted.Dataset) != 1 || len(counted.Dataset[0]) != 1 {
		return 0, all, fmt.Errorf("questdb answered %.300s (%w)", answer, err)
	}
	return counted.Dataset[0][0], all, nil
}
