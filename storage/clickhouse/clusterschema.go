package clickhouse

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"testing/fstest"
)

// bySeries is the key of tables whose rows have a series.
const bySeries = "intHash64(series)"

// shardKeys are the keys by which the rows of each table are divided among shards. Rows that replace each
// other have the same key, and all rows of a series have the key of the series. The functions must never
// change, because rows are not moved.
func shardKeys() map[string]string {
	return map[string]string{
		TablePoints: bySeries, TableStates: bySeries, TableExemplars: bySeries, "latest": bySeries,
		TableMinutes: bySeries, TableHours: bySeries, "rollup_marks": bySeries,
		"series":          "intHash64(id)",
		"source_activity": "cityHash64(workspace, source)",
		"audit":           "cityHash64(request_id)",
		"rollup_state":    "toUInt64(id)", // the id is 0: in the first shard
	}
}

// clusterSchema converts the migrations of one server to those of a cluster.
type clusterSchema struct {
	layout     Layout
	shards     int
	replicated bool // the servers have the macros shard and replica
}

var (
	createStatement = regexp.MustCompile(
		`(?s)^CREATE TABLE IF NOT EXISTS (\w+)(.*\n)ENGINE = (\w*MergeTree)(?:\(([^)]*)\))?(.*);$`,
	)
	copiedTable    = regexp.MustCompile(`^ AS (\w+)\n$`)
	dropStatement  = regexp.MustCompile(`^DROP TABLE IF EXISTS (\w+);$`)
	alterStatement = regexp.MustCompile(`(?s)^ALTER TABLE (\w+)(\s.*);$`)
	ofStorage      = regexp.MustCompile(`^\s+(?:MODIFY|RESET) SETTING `)
)

// files converts the files of migrations.
func (s clusterSchema) files(files fs.FS) (fs.FS, error) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		return nil, fmt.Errorf("listing migrations: %w", err)
	}
	converted := fstest.MapFS{}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return nil, fmt.Errorf("reading migration %s: %w", name, err)
		}
		result, err := s.file(string(text))
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		converted[name] = &fstest.MapFile{Data: []byte(result)}
	}
	return converted, nil
}

// file converts the statements of a migration. Each begins on a line, and ends with a line that ends with a
// semicolon.
func (s clusterSchema) file(text string) (string, error) {
	var converted, statement strings.Builder
	for line := range strings.Lines(text) {
		if statement.Len() == 0 && (strings.HasPrefix(line, "--") || strings.TrimSpace(line) == "") {
			converted.WriteString(line)
			continue
		}
		statement.WriteString(line)
		if !strings.HasSuffix(strings.TrimSpace(line), ";") {
			continue
		}
		result, err := s.statement(strings.TrimSpace(statement.String()))
		if err != nil {
			return "", err
		}
		converted.WriteString(result + "\n")
		statement.Reset()
	}
	if statement.Len() > 0 {
		return "", errors.New("the last statement does not end with a semicolon")
	}
	return converted.String(), nil
}

func (s clusterSchema) statement(text string) (string, error) {
	if m := createStatement.FindStringSubmatch(text); m != nil {
		key, found := shardKeys()[m[1]]
		if !found {
			return "", fmt.Errorf("table %s has no key in shardKeys", m[1])
		}
		created := s.create(m[1], m[2], s.engine(m[1], m[3], m[4])+m[5], key)
		return created[0] + ";\n\n" + created[1] + ";", nil
	}
	if m := dropStatement.FindStringSubmatch(text); m != nil {
		return "DROP TABLE IF EXISTS " + s.distributed(m[1]) + ";\nDROP TABLE IF EXISTS " + s.layout.Stored(m[1]) + ";", nil
	}
	if m := alterStatement.FindStringSubmatch(text); m != nil {
		local := "ALTER TABLE " + s.layout.Stored(m[1]) + m[2] + ";"
		if ofStorage.MatchString(m[2]) {
			return local, nil
		}
		return local + "\nALTER TABLE " + s.distributed(m[1]) + m[2] + ";", nil
	}
	verb, _, _ := strings.Cut(text, "\n")
	return "", fmt.Errorf("a cluster has no form of %q", verb)
}

// create returns the statements that create the tables of the shards and the Distributed table over them.
func (s clusterSchema) create(table, columns, engine, key string) [2]string {
	if m := copiedTable.FindStringSubmatch(columns); m != nil {
		columns = " AS " + s.layout.ShardTable(m[1]) + "\n"
	}
	return [2]string{
		"CREATE TABLE IF NOT EXISTS " + s.layout.Stored(table) + columns + "ENGINE = " + engine,
		"CREATE TABLE IF NOT EXISTS " + s.distributed(table) + " AS " + s.layout.ShardTable(table) + "\nENGINE = " +
			s.distributedEngine(table, key),
	}
}

// distributed returns the name of a Distributed table on all servers.
func (s clusterSchema) distributed(table string) string {
	return table + " ON CLUSTER " + quote(s.layout.cluster)
}

// distributedEngine returns the engine of a Distributed table. With a consistent hash, another shard takes
// over an equal part of the rows of each shard, and no others move.
func (s clusterSchema) distributedEngine(table, key string) string {
	return fmt.Sprintf("Distributed(%s, %s, %s, jumpConsistentHash(%s, %d))", quote(s.layout.cluster),
		quote(s.layout.database), quote(table+localSuffix), key, s.shards)
}

// engine returns the engine of the table of a shard. The path does not have the table's UUID, so that a
// replica that is added later can be created by the same statement.
func (s clusterSchema) engine(table, engine, arguments string) string {
	list := []string{}
	if s.replicated {
		engine = "Replicated" + engine
		path := "/clickhouse/tables/" + s.layout.cluster + "/" + s.layout.database + "/" + table + "/{shard}"
		list = append(list, quote(path), "'{replica}'")
	}
	if arguments != "" {
		list = append(list, arguments)
	}
	if len(list) == 0 {
		return engine
	}
	return engine + "(" + strings.Join(list, ", ") + ")"
}
