package promql_test

import (
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

func alerts(t *testing.T) []rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse(
		[]byte(read(t, "deploy/prometheus/alerts.yml")), false, model.LegacyValidation, parser.NewParser(parser.Options{}),
		slog.New(slog.DiscardHandler),
	)
	require.Empty(t, errs)
	require.Len(t, groups.Groups, 1)
	return groups.Groups[0].Rules
}

var placeholder = regexp.MustCompile(`\$labels\.([a-z_]+)`)

func TestEveryAlertReadsMetricsThatAreThereAndHasARunbook(t *testing.T) {
	all, runbooks := metrics(t), read(t, "docs/runbooks.md")
	seen := map[string]bool{}
	for _, rule := range alerts(t) {
		require.NotEmpty(t, rule.Alert)
		require.False(t, seen[rule.Alert], rule.Alert)
		seen[rule.Alert] = true
		labels := check(t, all, rule.Expr)
		require.Contains(t, []string{"critical", "warning"}, rule.Labels["severity"], rule.Alert)
		for _, annotation := range []string{"summary", "description", "action"} {
			require.NotEmpty(t, rule.Annotations[annotation], "%s: %s", rule.Alert, annotation)
			for _, used := range placeholder.FindAllStringSubmatch(rule.Annotations[annotation], -1) {
				require.True(t, labels[used[1]], "%s: %s uses the label %s", rule.Alert, annotation, used[1])
			}
		}
		require.True(t, strings.HasSuffix(rule.Annotations["runbook_url"], "/docs/runbooks.md#"+strings.ToLower(rule.Alert)))
		requireRunbook(t, runbooks, rule.Alert)
	}
	require.Len(t, regexp.MustCompile(`(?m)^## `).FindAllString(runbooks, -1), len(seen), "a runbook is of no alert")
	for _, name := range regexp.MustCompile(`livegraph_[a-z0-9_]*[a-z0-9]`).FindAllString(runbooks, -1) {
		require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(metric string) bool {
			return strings.HasPrefix(name, metric) || strings.HasPrefix(metric, name)
		}),
			"the runbooks name %s, which is no metric", name)
	}
}

// runbookParts are the parts of every runbook, in order.
var runbookParts = []string{
	"**Meaning.** ", "**Impact.** ", "**Diagnosis.**\n\n```sh\n", "**Mitigation.** ", "**Resolved when** ",
}

// requireRunbook requires that an alert has a section with all parts.
func requireRunbook(t *testing.T, page, alert string) {
	t.Helper()
	_, section, found := strings.Cut(page, "\n## "+alert+"\n")
	require.True(t, found, "%s has no runbook", alert)
	section, _, _ = strings.Cut(section, "\n## ")
	for _, part := range runbookParts {
		_, rest, found := strings.Cut(section, "\n"+part)
		require.True(t, found, "the runbook of %s has no %s, or not in its place", alert, part)
		require.NotEmpty(t, strings.TrimSpace(rest))
		section = "\n" + rest
	}
}

// healthy is an idle installation with an API and a consumer, with one sample per minute.
const healthy = `
up{job="livegraph-api",instance="a"} 1x60
up{job="livegraph-points",instance="p"} 1x60
process_start_time_seconds{job="livegraph-api",instance="a"} 1000x60
process_open_fds{job="livegraph-api",instance="a"} 100x60
process_max_fds{job="livegraph-api",instance="a"} 1024x60
livegraph_engine_up{instance="a",engine="kafka"} 1x60
livegraph_embedded_restarts_total{instance="a",engine="milvus"} 0x60
livegraph_kafka_up{instance="a"} 1x60
livegraph_kafka_lost_records_total{instance="a",topic="points"} 0x60
livegraph_kafka_log_fill_ratio{instance="a",topic="points"} 0.01x60
livegraph_kafka_partition_lag_seconds{instance="a",topic="points",partition="0"} 1x60
livegraph_kafka_partition_end_offset{instance="a",topic="points",partition="0"} 0+60x60
livegraph_kafka_partition_end_offset{instance="p",topic="points",partition="0"} 0+60x60
livegraph_kafka_produce_failures_total{instance="a",topic="points",reason="away"} 0x60
livegraph_kafka_partition_lag_seconds{instance="a",topic="graph.commands",partition="0"} 0x60
livegraph_kafka_partition_end_offset{instance="a",topic="graph.commands",partition="0"} 0+60x60
livegraph_consumer_partitions{instance="p",consumer="points"} 1x60
livegraph_consumer_partitions{instance="p",consumer="commands"} 1x60
livegraph_consumer_partitions{instance="p",consumer="audit"} 1x60
livegraph_kafka_partition_lag_seconds{instance="a",topic="audit",partition="0"} 0x60
livegraph_kafka_partition_end_offset{instance="a",topic="audit",partition="0"} 0+60x60
livegraph_audit_spool_pending_bytes{instance="a"} 10x60
livegraph_audit_spool_limit_bytes{instance="a"} 1000x60
livegraph_audit_refused_requests_total{instance="a",reason="full"} 0x60
livegraph_audit_append_failures_total{instance="a"} 0x60
livegraph_audit_spool_sync_failures_total{instance="a"} 0x60
livegraph_consumer_lost_records_total{instance="p",consumer="points"} 0x60
livegraph_consumer_rebalances_total{instance="p",consumer="points"} 1x60
livegraph_consumer_retries_total{instance="p",consumer="points"} 3x60
livegraph_consumer_dead_letters_total{instance="p",consumer="points"} 0x60
livegraph_consumer_dead_letters_total{instance="p",consumer="commands"} 0x60
livegraph_commands_stale_total{instance="p"} 0x20 1x40
livegraph_graph_events_published_total{instance="p"} 0+600x60
livegraph_graph_events_publish_failures_total{instance="p"} 0x20 2x40
livegraph_graph_events_unpublished_workspaces{instance="p"} 3x60
livegraph_search_index_lag_seconds{instance="e"} 2x60
livegraph_rules_workspaces{instance="r"} 3x60
livegraph_rules_owned_workspaces{instance="r"} 3x60
livegraph_consumer_freshness_seconds_bucket{instance="p",consumer="points",le="0.1"} 0+600x60
livegraph_consumer_freshness_seconds_bucket{instance="p",consumer="points",le="10"} 0+600x60
livegraph_consumer_freshness_seconds_bucket{instance="p",consumer="points",le="+Inf"} 0+600x60
livegraph_http_requests_total{instance="a",route="/api/live-data/ingest",method="POST",status="201"} 0+600x60
livegraph_http_requests_total{instance="a",route="/api/live-data/ingest",method="POST",status="503"} 0x60
livegraph_http_requests_total{instance="a",route="/api/live-data/ingest",method="POST",status="500"} 0x60
livegraph_http_request_duration_seconds_bucket{instance="a",route="/api/live-data/ingest",le="0.1"} 0+600x60
livegraph_http_request_duration_seconds_bucket{instance="a",route="/api/live-data/ingest",le="5"} 0+600x60
livegraph_http_request_duration_seconds_bucket{instance="a",route="/api/live-data/ingest",le="+Inf"} 0+600x60
livegraph_http_connections{instance="a"} 10x60
livegraph_http_connections_limit{instance="a"} 4096x60
livegraph_ingest_points_accepted_total{instance="a"} 0+60000x60
livegraph_ingest_points_rejected_total{instance="a",reason="time_late"} 0+6x60
livegraph_auth_fresh{instance="a"} 1x60
livegraph_ratelimit_requests_total{instance="a",by="redis"} 0+600x60
livegraph_ratelimit_requests_total{instance="a",by="process"} 3x60
livegraph_ratelimit_redis_behind_total{instance="a"} 1x60
livegraph_postgres_connections_in_use{instance="a",pool="keys"} 1x60
livegraph_postgres_connections_limit{instance="a",pool="keys"} 4x60
livegraph_clickhouse_errors_total{instance="a",operation="query_raw",kind="timeout"} 0x60
livegraph_clickhouse_errors_total{instance="a",operation="query_raw",kind="cancelled"} 0+600x60
livegraph_clickhouse_partition_parts_max{instance="p"} 20x60
livegraph_clickhouse_disk_free_bytes{instance="p"} 800x60
livegraph_clickhouse_disk_total_bytes{instance="p"} 1000x60
livegraph_deletions_oldest_age_seconds{instance="a"} 2x60
livegraph_graph_events_unpublished_age_seconds{instance="p"} 1x60
livegraph_rollups_passes_total{instance="p",result="done"} 0+1x60
livegraph_rollups_passes_total{instance="p",result="failed"} 0x20 1x40
livegraph_upkeep_failures_total{instance="p",work="retention"} 0x20 1x40
livegraph_upkeep_failures_total{instance="p",work="workspaces"} 0x20 20x40
livegraph_replay_jobs_total{instance="p",consumer="points",state="failed"} 0x60
livegraph_replay_jobs_total{instance="p",consumer="points",state="done"} 0+1x60
livegraph_point_streams_dropped_total{instance="a",reason="slow_reader"} 0x20 5x40
livegraph_point_streams_dropped_total{instance="a",reason="log_changed"} 0x20 50x40
livegraph_analyses_open{instance="r",state="queued"} 1x60
livegraph_analyses_open{instance="r",state="running"} 1x60
livegraph_analyses_runs_total{instance="r",outcome="done"} 0+1x60
livegraph_analyses_runs_total{instance="r",outcome="failed"} 1x60
livegraph_analyses_runs_total{instance="r",outcome="interrupted"} 0x60
`

// faults contains series for each alert. They replace those of the healthy installation and change,
// usually at minute 30.
var faults = map[string]string{
	"LivegraphDown":                    `up{job="livegraph-points",instance="p"} 1x30 0x30`,
	"LivegraphRestarting":              `process_start_time_seconds{job="livegraph-api",instance="a"} 1000x30 2000+60x30`,
	"LivegraphEngineDown":              `livegraph_engine_up{instance="a",engine="kafka"} 1x30 0x30`,
	"LivegraphEmbeddedEngineRestarted": `livegraph_embedded_restarts_total{instance="a",engine="milvus"} 0x45 1x15`,
	"LivegraphRecordsLost":             `livegraph_kafka_lost_records_total{instance="a",topic="points"} 0x30 7x30`,
	"LivegraphLogNearlyFull":           `livegraph_kafka_log_fill_ratio{instance="a",topic="points"} 0.01x30 0.6x30`,
	"LivegraphPointsLag": `livegraph_kafka_partition_lag_seconds{instance="a",topic="points",partition="0"} ` +
		`1x30 1+60x30`,
	"LivegraphCommandsLag": `livegraph_kafka_partition_lag_seconds{instance="a",topic="graph.commands",partition="0"} ` +
		`0x30 1+60x30`,
	"LivegraphAuditLag": `livegraph_kafka_partition_lag_seconds{instance="a",topic="audit",partition="0"} ` +
		`0x30 1+60x30`,
	"LivegraphAuditSpoolFilling":   `livegraph_audit_spool_pending_bytes{instance="a"} 10x30 600x30`,
	"LivegraphAuditRefusing":       `livegraph_audit_refused_requests_total{instance="a",reason="full"} 0x30 0+1x30`,
	"LivegraphAuditSpoolSyncFails": `livegraph_audit_spool_sync_failures_total{instance="a"} 0x30 1x30`,
	"LivegraphNotFresh": `livegraph_consumer_freshness_seconds_bucket{instance="p",consumer="points",le="0.1"} ` +
		`0x60`,
	"LivegraphPartitionsUnowned": `livegraph_consumer_partitions{instance="p",consumer="points"} 1x30 0x30`,
	"LivegraphRebalancing":       `livegraph_consumer_rebalances_total{instance="p",consumer="points"} 1+2x60`,
	"LivegraphConsumerRetrying":  `livegraph_consumer_retries_total{instance="p",consumer="points"} 0+60x60`,
	"LivegraphDeadLetters":       `livegraph_consumer_dead_letters_total{instance="p",consumer="points"} 0x30 1x30`,
	"LivegraphCommandDeadLetters": `livegraph_consumer_dead_letters_total{instance="p",consumer="commands"} ` +
		`0x30 1x30`,
	"LivegraphCommandsStale":     `livegraph_commands_stale_total{instance="p"} 0+1x60`,
	"LivegraphEventsUnpublished": `livegraph_graph_events_publish_failures_total{instance="p"} 0x30 0+2x30`,
	"LivegraphSearchIndexLag":    `livegraph_search_index_lag_seconds{instance="e"} 2x30 2+60x30`,
	"LivegraphRulesNotEvaluated": `livegraph_rules_owned_workspaces{instance="r"} 3x30 2x30`,
	"LivegraphEventsLate":        `livegraph_graph_events_unpublished_age_seconds{instance="p"} 1x30 1+60x30`,
	"LivegraphRollupsFailing":    `livegraph_rollups_passes_total{instance="p",result="failed"} 0x20 0+1x40`,
	"LivegraphUpkeepFailing":     `livegraph_upkeep_failures_total{instance="p",work="retention"} 0x20 1x20 3x20`,
	"LivegraphReplayFailed": `livegraph_replay_jobs_total{instance="p",consumer="points",state="failed"} ` +
		`0x30 1x30`,
	"LivegraphAnalysesFailing": `livegraph_analyses_runs_total{instance="r",outcome="failed"} 0x30 0+1x30`,
	"LivegraphAnalysesQueued":  `livegraph_analyses_runs_total{instance="r",outcome="done"} 7x60`,
	"LivegraphStreamReadersDropped": `livegraph_point_streams_dropped_total{instance="a",reason="slow_reader"} ` +
		`0x30 0+5x30`,
	"LivegraphServerErrors": `livegraph_http_requests_total{instance="a",route="/api/live-data/ingest",` +
		`method="POST",status="500"} 0x55 1x5`,
	"LivegraphUnavailable": `livegraph_http_requests_total{instance="a",route="/api/live-data/ingest",` +
		`method="POST",status="503"} 0+60x60`,
	"LivegraphSlow": `livegraph_http_request_duration_seconds_bucket{instance="a",route="/api/live-data/ingest",` +
		`le="0.1"} 0x60`,
	"LivegraphPointsRejected": `livegraph_ingest_points_rejected_total{instance="a",reason="time_late"} ` +
		`0+60000x60`,
	"LivegraphRateLimitsAlone":  `livegraph_ratelimit_requests_total{instance="a",by="process"} 3x56 4+60x4`,
	"LivegraphKeysUnverified":   `livegraph_auth_fresh{instance="a"} 1x30 0x30`,
	"LivegraphPostgresPoolFull": `livegraph_postgres_connections_in_use{instance="a",pool="keys"} 1x30 4x30`,
	"LivegraphClickHouseErrors": `livegraph_clickhouse_errors_total{instance="a",operation="query_raw",kind="timeout"} ` +
		`0+60x60`,
	"LivegraphClickHouseParts":   `livegraph_clickhouse_partition_parts_max{instance="p"} 20x30 700x30`,
	"LivegraphRollupsBehind":     `livegraph_rollups_age_seconds{instance="p"} 600x30 11000+60x30`,
	"LivegraphClickHouseDiskLow": `livegraph_clickhouse_disk_free_bytes{instance="p"} 800x30 50x30`,
	"LivegraphKafkaFailures": `livegraph_kafka_produce_failures_total{instance="a",topic="points",reason="away"} ` +
		`0+60x60`,
	"LivegraphPointDeletionsBehind": `livegraph_point_deletions_oldest_seconds{instance="p"} 5x30 60+60x40`,
	"LivegraphDeletionsStuck":       `livegraph_deletions_oldest_age_seconds{instance="a"} 2x30 2+60x30`,
	"LivegraphConnectionsNearLimit": `livegraph_http_connections{instance="a"} 10x30 4000x30`,
	"LivegraphOpenFilesNearLimit":   `process_open_fds{job="livegraph-api",instance="a"} 100x30 1000x30`,
}

func TestNoAlertFiresWhileAllIsWell(t *testing.T) {
	installation := newFixture(t, healthy)
	for _, rule := range alerts(t) {
		for minute := 15; minute <= 60; minute += 15 {
			require.Empty(t, installation.query(t, rule.Expr, time.Duration(minute)*time.Minute), rule.Alert)
		}
	}
}

func TestEachAlertFiresForItsFaultAndEndures(t *testing.T) {
	rules := alerts(t)
	require.Len(t, faults, len(rules))
	for _, rule := range rules {
		fault, described := faults[rule.Alert]
		require.True(t, described, "no fault is described for %s", rule.Alert)
		installation := newFixture(t, healthy)
		installation.replace(t, fault)
		const now = 60 * time.Minute
		for ago := time.Duration(0); ago <= time.Duration(rule.For); ago += time.Minute {
			require.NotEmpty(t, installation.query(t, rule.Expr, now-ago), "%s, %s ago", rule.Alert, ago)
		}
	}
}

// firing reports whether an alert's expression returns series at the end of the hour.
func firing(t *testing.T, w *fixture, alert string) bool {
	t.Helper()
	for _, rule := range alerts(t) {
		if rule.Alert == alert {
			return len(w.query(t, rule.Expr, time.Hour)) > 0
		}
	}
	require.Fail(t, "there is no such alert", alert)
	return false
}

func TestAPublisherThatStopsWithoutAFailureIsNoticed(t *testing.T) {
	const alert = "LivegraphEventsUnpublished"
	installation := newFixture(t, healthy)
	installation.replace(t, `livegraph_graph_events_published_total{instance="p"} 600x60`)
	require.True(t, firing(t, installation, alert))
	installation.replace(t, `livegraph_graph_events_unpublished_workspaces{instance="p"} 0x60`)
	require.False(t, firing(t, installation, alert), "there is nothing to publish")

	others := newFixture(t, healthy)
	others.replace(t, `livegraph_graph_events_published_total{instance="q"} 7x60`)
	others.replace(t, `livegraph_graph_events_unpublished_workspaces{instance="q"} 1x60`)
	require.True(t, firing(t, others, alert), "that another process publishes is no help")
}

func TestDeadLetterAlertsDistinguishConsumers(t *testing.T) {
	for consumer, alert := range map[string]string{
		"points": "LivegraphCommandDeadLetters", "commands": "LivegraphDeadLetters",
	} {
		installation := newFixture(t, healthy)
		installation.replace(t, `livegraph_consumer_dead_letters_total{instance="p",consumer="`+consumer+`"} 0x30 1x30`)
		require.False(t, firing(t, installation, alert), consumer)
	}
}

func TestAnInstallationWithoutAnyConsumerIsNoticed(t *testing.T) {
	installation := newFixture(t, healthy)
	installation.remove("livegraph_consumer_partitions")
	onlyPoints := newFixture(t, healthy)
	onlyPoints.replace(t, `livegraph_consumer_partitions{instance="p",consumer="commands"} 0x60`)
	require.True(t, firing(t, installation, "LivegraphPartitionsUnowned"))
	require.True(t, firing(t, onlyPoints, "LivegraphPartitionsUnowned"))
}

func TestDeletedWorkspacesThatAreNotRemovedAreNoticed(t *testing.T) {
	installation := newFixture(t, healthy)
	installation.replace(t, `livegraph_upkeep_failures_total{instance="p",work="workspaces"} 0x20 0+60x40`)
	require.True(t, firing(t, installation, "LivegraphUpkeepFailing"))
}
