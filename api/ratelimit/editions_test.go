package ratelimit_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/ratelimit"
	"github.com/livegraph/livegraph/storage/redis"
	"github.com/livegraph/livegraph/test/testenv"
)

func TestExactlyThePlansRequestsPassWithSentinels(t *testing.T) {
	testenv.RequireFull(t)
	s := testenv.RedisSentinels(t)
	requireExactlyThePlan(t, redis.Options{URL: s.URL(), SentinelPassword: s.SentinelPassword})
}

func TestExactlyThePlansRequestsPassInACluster(t *testing.T) {
	testenv.RequireFull(t)
	requireExactlyThePlan(t, redis.Options{URL: testenv.RedisCluster(t).URL()})
}

// Peek reads the counts of workspaces of all servers of a Cluster.
func TestPeekReadsAllServersOfACluster(t *testing.T) {
	o := redis.Options{URL: testenv.RedisCluster(t).URL()}
	limiter, other := processWith(t, o), processWith(t, o)
	workspaces := make([]ratelimit.WorkspacePlan, 30)
	for i := range workspaces {
		workspaces[i] = ratelimit.WorkspacePlan{
			Workspace: uuid.New(), Plan: ratelimit.Plan{PerMinute: 50, PerDay: 100},
		}
		require.Equal(t, i, passed(t, limiter, workspaces[i].Workspace, workspaces[i].Plan, i))
	}
	for i, s := range other.Peek(t.Context(), workspaces) {
		require.EqualValues(t, 50-i, s.Minute.Remaining)
	}
}

// While one server of a Cluster is unavailable, the others count the requests of their workspaces exactly,
// and each process counts those of the server by itself.
func TestAnUnavailableServerOfAClusterAffectsOnlyItsWorkspaces(t *testing.T) {
	cluster := testenv.StoppableRedisCluster(t, 0)
	o := redis.Options{URL: cluster.URL()}
	db := openWith(t, o)
	plan := ratelimit.Plan{PerMinute: 20, PerDay: 100}
	first, second := processWith(t, o), processWith(t, o)
	affected, others := uuid.New(), []uuid.UUID{uuid.New(), uuid.New(), uuid.New(), uuid.New()}
	down := cluster.Primaries[1]
	for db.Server(t.Context(), affected) != down.Address {
		affected = uuid.New()
	}
	for i := range others {
		for db.Server(t.Context(), others[i]) == down.Address {
			others[i] = uuid.New()
		}
	}
	require.Equal(t, 5, passed(t, first, affected, plan, 5))
	require.NoError(t, down.Kill())
	require.Equal(t, 15, passed(t, first, affected, plan, 30), "the plan, with the counts from before")
	require.Equal(t, 20, passed(t, second, affected, plan, 30), "the plan once more in each process")
	for _, workspace := range others {
		require.Equal(t, 12, passed(t, first, workspace, plan, 12))
		require.Equal(t, 8, passed(t, second, workspace, plan, 30), "counted over both processes")
	}
	require.NoError(t, down.Start(t.Context()))
	require.Eventually(t, func() bool {
		passed(t, first, affected, plan, 1)
		state := processWith(t, o).Peek(t.Context(), []ratelimit.WorkspacePlan{{Workspace: affected, Plan: plan}})
		return state[0].Minute.Remaining == 0
	}, time.Minute, 50*time.Millisecond, "the server receives the counts")
}

func TestNoPlanIsExceededInAProcessDuringAFailOver(t *testing.T) {
	t.Run("Sentinels", func(t *testing.T) {
		s := testenv.StoppableRedisSentinels(t)
		requirePlanDuringFailOver(
			t, redis.Options{URL: s.URL(), SentinelPassword: s.SentinelPassword}, "", s.Servers[0].Kill,
		)
	})
	t.Run("Cluster", func(t *testing.T) {
		c := testenv.StoppableRedisCluster(t, 1)
		requirePlanDuringFailOver(t, redis.Options{URL: c.URL()}, c.Primaries[0].Address, c.Primaries[0].Kill)
	})
}

// requirePlanDuringFailOver counts requests of workspaces in two processes while the primary at an address
// is killed, until Redis counts again. At most the plan passes in each process, and every request is
// answered soon.
func requirePlanDuringFailOver(t *testing.T, o redis.Options, address string, kill func() error) {
	t.Helper()
	const timeout, slowest = 250 * time.Millisecond, 10 * time.Second // twice the timeout, on a busy machine
	plan := ratelimit.Plan{PerMinute: 3000, PerDay: 10_000}
	workspaces := []uuid.UUID{uuid.New(), uuid.New(), uuid.New()}
	for db := openWith(t, o); db.Server(t.Context(), workspaces[0]) != address; {
		workspaces[0] = uuid.New()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	killed := make(chan struct{})
	var group sync.WaitGroup
	var mu sync.Mutex
	total := map[uuid.UUID]int{}
	for range 2 {
		registry := prometheus.NewPedanticRegistry()
		limiter := processWith(t, o, func(d *ratelimit.Deps) { d.Timeout, d.Metrics = timeout, registry })
		group.Go(func() {
			inProcess := map[uuid.UUID]int{}
			for again := 0; again < len(workspaces) && ctx.Err() == nil; {
				again = 0
				for _, workspace := range workspaces {
					before := byRedis(t, registry)
					began := time.Now()
					if s := limiter.Take(ctx, workspace, plan); s.Exceeded() == nil {
						inProcess[workspace]++
					}
					if time.Since(began) > slowest {
						t.Errorf("a request took %s", time.Since(began))
					}
					select {
					case <-killed:
						if byRedis(t, registry) > before || inProcess[workspace] >= int(plan.PerMinute) {
							again++
						}
					default:
					}
				}
				time.Sleep(5 * time.Millisecond) // limits the number of requests
			}
			mu.Lock()
			defer mu.Unlock()
			for workspace, n := range inProcess {
				if n > int(plan.PerMinute) {
					t.Errorf("%d requests passed in one process", n)
				}
				total[workspace] += n
			}
		})
	}
	time.Sleep(200 * time.Millisecond) // so that requests are in progress
	if err := kill(); err != nil {
		t.Error(err)
	}
	close(killed)
	group.Wait()
	require.NoError(t, ctx.Err(), "Redis counts again")
	// From now on both processes know the same counts, or learn them with the next call.
	for _, workspace := range workspaces {
		first, second := processWith(t, o), processWith(t, o)
		more := passed(t, first, workspace, plan, 3000) + passed(t, second, workspace, plan, 3000)
		require.LessOrEqual(t, total[workspace]+more, 2*int(plan.PerMinute))
		require.Zero(t, passed(t, first, workspace, plan, 1)+passed(t, second, workspace, plan, 1))
	}
}

// byRedis returns the number of requests that Redis has counted.
func byRedis(t *testing.T, registry *prometheus.Registry) float64 {
	t.Helper()
	const name = "livegraph_ratelimit_requests_total"
	families, err := registry.Gather()
	if err != nil {
		t.Error(err)
		return 0
	}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "by" && label.GetValue() == "redis" {
					return m.GetCounter().GetValue()
				}
			}
		}
	}
	return 0
}
