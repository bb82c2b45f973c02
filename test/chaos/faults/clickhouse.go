package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/test/chaos/environment"
)

// clickhouseFaults returns the faults that are specific to ClickHouse.
func clickhouseFaults(env *environment.Environment, s *environment.Stores) []Fault {
	kinds := []struct {
		name     string
		settings map[string]string // of tables, in addition to theirs
		// needsRestart is set if a ClickHouse server that started during the fault must be restarted
		// after it.
		needsRestart bool
	}{
		{"too-many-parts", map[string]string{"parts_to_delay_insert": "1", "parts_to_throw_insert": "1"}, false},
		{"no-space", map[string]string{"min_free_disk_bytes_to_perform_insert": "1000000000000000"}, false},
		// ClickHouse starts no merges and mutations of a table that was read-only when the server
		// started.
		{"read-only", map[string]string{"table_readonly": "1"}, true},
	}
	var all []Fault
	for _, kind := range kinds {
		all = append(all, Fault{Kind: kind.name + "/clickhouse", Lasts: outage,
			Inject: func(ctx context.Context, dice *rand.Rand) (func(context.Context) error, error) {
				e := env.Engine(environment.ClickHouse)
				before := e.PID()
				heal, err := setTables(ctx, s, dice, kind.settings)
				if heal == nil || !kind.needsRestart {
					return heal, err
				}
				return func(ctx context.Context) error {
					if err := heal(ctx); err != nil || e.PID() == before {
						return err
					}
					e.Kill()
					return e.WaitReady(ctx)
				}, err
			}})
	}
	return append(all,
		Fault{Kind: "no-merges/clickhouse", Lasts: between(time.Second, 4*time.Second),
			Inject: func(ctx context.Context, _ *rand.Rand) (func(context.Context) error, error) {
				return func(ctx context.Context) error {
					return retry(ctx, func(ctx context.Context) error { return s.ClickHouse.Exec(ctx, "SYSTEM START MERGES") })
				}, s.ClickHouse.Exec(ctx, "SYSTEM STOP MERGES")
			}},
		Fault{Kind: "memory/clickhouse", Lasts: instant, Inject: func(
			ctx context.Context, dice *rand.Rand,
		) (func(context.Context) error, error) {
			return exhaustMemory(ctx, s, dice)
		}},
	)
}

// setTables changes settings of random tables; heal resets them. The schema does not set these
// settings itself.
func setTables(
	ctx context.Context, s *environment.Stores, dice *rand.Rand, settings map[string]string,
) (func(context.Context) error, error) {
	rows, err := s.ClickHouse.Query( // the tables of shards are in databases with suffixes
		ctx, `SELECT database || '.' || name FROM system.tables
			WHERE startsWith(database, currentDatabase()) AND engine LIKE '%MergeTree' ORDER BY database, name`,
	)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var tables []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		if dice.IntN(2) == 0 {
			tables = append(tables, name)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	var set, names []string
	for name, value := range settings {
		set, names = append(set, name+" = "+value), append(names, name)
	}
	heal := func(ctx context.Context) error {
		for _, table := range tables {
			err := retry(ctx, func(ctx context.Context) error {
				return s.ClickHouse.Exec(ctx, fmt.Sprintf("ALTER TABLE %s RESET SETTING %s", table, strings.Join(names, ", ")))
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	for _, table := range tables {
		if err := s.ClickHouse.Exec(ctx, fmt.Sprintf(
			"ALTER TABLE %s MODIFY SETTING %s", table, strings.Join(set, ", "),
		)); err != nil {
			return heal, err
		}
	}
	return heal, nil
}

// exhaustMemory runs a query that uses up the memory of the engine for a short time, so that other
// queries are refused.
func exhaustMemory(ctx context.Context, s *environment.Stores, dice *rand.Rand) (func(context.Context) error, error) {
	const limit = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	statement := fmt.Sprintf(
		"SELECT length(a), sleepEachRow(2) FROM (SELECT groupArray(repeat('x', 1000)) AS a FROM numbers(%d)) "+
			"SETTINGS max_memory_usage = 0, max_threads = 1", 500_000+dice.IntN(400_000),
	)
	// The query itself may also fail with the memory error.
	err := s.ClickHouse.Exec(ctx, statement)
	if exception := (*ch.Exception)(nil); errors.As(err, &exception) {
		return noHeal, nil
	}
	return noHeal, err
}
