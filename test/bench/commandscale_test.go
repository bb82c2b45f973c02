package bench

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/livegraph/livegraph/internal/platform/plural"
	"github.com/livegraph/livegraph/test/bench/machine"
	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/harness"
	"github.com/livegraph/livegraph/test/kafkatest"
)

const (
	scaleTurns      = 3
	scaleWorkspaces = 64
	scaleCommands   = 20_000 // per measurement
	scaleWarmUp     = 4_000
	scaleMax        = 4 // processes with role commands
	scaleGroup      = "livegraph-commands"
)

// BenchmarkCommandScale measures commands that callers send one by one, with 1, 2 and 4 processes of role
// commands, which share the partitions of graph.commands. The commands are those of 64 workspaces, which
// are in all partitions, and of one workspace, which is in one. Its baseline is one process in the same run.
func BenchmarkCommandScale(b *testing.B) {
	r := record.New(b)
	broker := kafkatest.NewKFake(b)
	split := harness.NewSplit(
		b, binary, []harness.Role{{Name: "api", Count: 1}, {Name: "commands", Count: scaleMax}}, broker.Settings()...,
	)
	for _, process := range split.All() {
		process.Args = append(process.Args, quiet...)
	}
	split.Start()
	s := &commandScale{
		b: b, processes: split.ByRole("commands"), running: scaleMax, admin: broker.Admin(b),
		load: &graphLoad{t: &target{Server: split.ByRole("api")[0], b: b}, http: &http.Client{
			Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: manyCallers, DisableCompression: true},
		}},
	}
	versions := s.load.t.engines()
	var err error
	versions["kafka"], err = machine.EmbeddedKafka(binary) // the benchmark started it
	require.NoError(b, err)
	r.Engines(versions)
	many := s.tenants()
	for turn := range scaleTurns {
		var alone float64
		for _, processes := range []int{1, 2, scaleMax} {
			s.run(processes)
			for name, tenants := range map[string][]graphTenant{"many": many, "one": many[:1]} {
				s.load.tenants = tenants
				s.load.singles(manyCallers, scaleWarmUp)
				rate := s.load.singles(manyCallers, scaleCommands).perSecond()
				r.Logf("turn %d of %d: %.0f commands/s, %s, %s", turn+1, scaleTurns, rate,
					plural.Count(len(tenants), "workspace"), plural.CountOf(processes, "process", "processes"))
				r.Add(fmt.Sprintf("%s/%d", name, processes), "commands/s", rate)
				if name != "many" {
					continue
				}
				if processes == 1 {
					alone = rate
				}
				r.Add(fmt.Sprintf("ratio/%d", processes), "ratio", rate/alone)
			}
		}
	}
	r.Save()
}

// commandScale starts and stops the processes with role commands.
type commandScale struct {
	b         *testing.B
	processes []*harness.Server
	running   int // the first of the processes
	admin     *kadm.Client
	load      *graphLoad
}

// tenants creates workspaces with a key each.
func (s *commandScale) tenants() (all []graphTenant) {
	s.b.Helper()
	api := s.load.t
	for i := range scaleWorkspaces {
		var workspace struct{ ID string }
		require.NoError(s.b, json.Unmarshal([]byte(
			api.CLI("workspaces", "create", "--name", fmt.Sprintf("scale %d", i), "--plan", "enterprise", "--json"),
		), &workspace))
		var key struct{ Key string }
		require.NoError(s.b, json.Unmarshal([]byte(api.CLI(
			"keys", "create", "--workspace", workspace.ID, "--name", "load", "--scope", "write:nodes", "--json",
		)), &key))
		all = append(all, graphTenant{workspace: workspace.ID, key: key.Key})
	}
	return all
}

// run starts or stops processes until n run, and waits until they share the partitions.
func (s *commandScale) run(n int) {
	s.b.Helper()
	for ; s.running > n; s.running-- {
		require.Zero(s.b, s.processes[s.running-1].Stop())
	}
	for ; s.running < n; s.running++ {
		s.processes[s.running].Launch()
		s.processes[s.running].WaitReady()
	}
	require.Eventually(s.b, func() bool {
		groups, err := s.admin.DescribeGroups(s.b.Context(), scaleGroup)
		if err != nil {
			return false
		}
		group := groups[scaleGroup]
		return group.State == "Stable" && len(group.Members) == n && !slices.ContainsFunc(
			group.Members, func(m kadm.DescribedGroupMember) bool {
				assigned, ok := m.Assigned.AsConsumer()
				return !ok || len(assigned.Topics) == 0
			},
		)
	}, time.Minute, 50*time.Millisecond, "%d processes do not share the partitions", n)
}
