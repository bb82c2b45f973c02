package machine

import (
	"context"
	"fmt"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/disk"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestInstancesOfAProgramShareOneName(t *testing.T) {
	for command, name := range map[string]string{
		"postgres":                    "postgres",
		"python3.11":                  "python3.11",
		"x264":                        "x264",
		"kworker/0:1H-events":         "kworker",
		"kworker/u8:2-ext4-rsv":       "kworker",
		"migration/7":                 "migration",
		"worker-18231":                "worker-*",
		"worker-18232":                "worker-*",
		"job.20260101.99":             "job.*.99",
		"  spaced  ":                  "spaced",
		"":                            "unnamed",
		"bad\x00\x1b[31m\nname\xff":   "bad__[31m_name_",
		"/slash-first":                "/slash-first",
		"memfd:sealed-91":             "memfd:sealed-91",
		"Изображение":                 "Изображение",
		string(make([]byte, 500)):     string(underscores(longestName)),
		"chrome_crashpad_handler1234": "chrome_crashpad_handler*",
	} {
		require.Equal(t, name, processName(command), "%q", command)
	}
}

func underscores(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = '_'
	}
	return b
}

func TestAnyNameBecomesAValidTag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		name := processName(raw)
		require.NotEmpty(t, name)
		require.True(t, utf8.ValidString(name))
		require.LessOrEqual(t, utf8.RuneCountInString(name), longestName)
		require.NotContains(t, name, "\x00")
		require.Equal(t, name, processName(name), "cleaning twice changes nothing")
	})
}

func TestInterfacesOfContainersAreOneSeries(t *testing.T) {
	require.Equal(t, "veth*", interfaceName("veth12ab9f"))
	require.Equal(t, "br*", interfaceName("br-77aa01"))
	require.Equal(t, "eth0", interfaceName("eth0"))
	require.Equal(t, "bridge0", interfaceName("bridge0"))
}

func TestTheNumberOfNamesIsBounded(t *testing.T) {
	r := newRoster(3)
	seen := map[string]bool{}
	for i := range 1000 {
		seen[r.admit(fmt.Sprint("name", i))] = true
	}
	require.Len(t, seen, 4)
	require.True(t, seen[other])
	require.Equal(t, "name0", r.admit("name0"), "a name once admitted stays itself")
}

func TestProcessesBeyondTheBoundAreSummed(t *testing.T) {
	p := newProcesses()
	p.names = newRoster(2)
	usages := func() map[string]*usage {
		m := map[string]*usage{}
		for i := range 30 {
			name := fmt.Sprintf("p%02d", i)
			m[name] = &usage{name: name, cpu: float64(30 - i), rss: 1, instances: 1}
		}
		return m
	}
	top := p.top(usages())
	require.Len(t, top, 3)
	require.Equal(t, "p00", top[0].name)
	require.Equal(t, "p01", top[1].name)
	require.Equal(t, other, top[2].name)
	require.Equal(t, busiest-2, top[2].instances)
	require.Len(t, p.top(usages()), 3, "the same names the next time")
}

func TestOneBusyRoundDoesNotShuffleTheList(t *testing.T) {
	p := newProcesses()
	round := func(steady, spike float64) []usage {
		return p.top(map[string]*usage{
			"steady": {name: "steady", cpu: steady, instances: 1},
			"spike":  {name: "spike", cpu: spike, instances: 1},
		})
	}
	for range 20 {
		round(50, 0)
	}
	require.Equal(t, "steady", round(50, 90)[0].name)
	for range 20 {
		round(50, 90)
	}
	require.Equal(t, "spike", round(50, 90)[0].name)
}

func TestRatesNeedTwoRoundsAndSurviveResets(t *testing.T) {
	var m meter
	start := time.Unix(100, 0)
	at := func(second int, value float64) (float64, bool) {
		m.begin(start.Add(time.Duration(second) * time.Second))
		return m.rate("c", value)
	}
	_, ok := at(0, 1000)
	require.False(t, ok, "the first round has nothing to compare with")
	rate, ok := at(2, 1500)
	require.True(t, ok)
	require.InDelta(t, 250, rate, 1e-9)
	_, ok = at(3, 10)
	require.False(t, ok, "a counter that went down was reset")
	rate, ok = at(4, 40)
	require.True(t, ok)
	require.InDelta(t, 30, rate, 1e-9)
	_, ok = at(4, 50)
	require.False(t, ok, "no time has passed")
	m.begin(start.Add(time.Minute))
	m.begin(start.Add(2 * time.Minute))
	_, ok = m.rate("c", 60)
	require.False(t, ok, "a counter that was gone for a round is new")
}

func TestCPUSharesAddUp(t *testing.T) {
	c := newCPU()
	round := func(at int64, times cpu.TimesStat) (cpuShares, bool) {
		c.meter.begin(time.Unix(at, 0))
		return c.shares("x", times)
	}
	_, ok := round(0, cpu.TimesStat{User: 10, Idle: 100})
	require.False(t, ok)
	share, ok := round(1, cpu.TimesStat{
		User: 10.5, Nice: 0.5, System: 0.2, Irq: 0.1, Softirq: 0.1, Steal: 0.1, Idle: 100.3, Iowait: 0.2,
	})
	require.True(t, ok)
	require.InDelta(t, 75, share.busy, 1e-6)
	require.InDelta(t, 50, share.user, 1e-6)
	require.InDelta(t, 20, share.system, 1e-6)
	require.InDelta(t, 5, share.steal, 1e-6)
	require.InDelta(t, 10, share.iowait, 1e-6)
	_, ok = round(2, cpu.TimesStat{
		User: 10.5, Nice: 0.5, System: 0.2, Irq: 0.1, Softirq: 0.1, Steal: 0.1, Idle: 100.3, Iowait: 0.2,
	})
	require.False(t, ok, "no time passed")
}

func TestAFileSystemMountedManyTimesIsMeasuredOnce(t *testing.T) {
	data, deep := t.TempDir(), t.TempDir()+"/"
	mounts := ownMounts([]disk.PartitionStat{
		{Device: "/dev/sda1", Mountpoint: "/", Fstype: "ext4"},
		{Device: "/dev/sda1", Mountpoint: data, Fstype: "ext4"},
		{Device: "/dev/sdb1", Mountpoint: deep, Fstype: "ext4"},
		{Device: "/dev/sdb1", Mountpoint: deep, Fstype: "ext4"},
		{Device: "/dev/sdc1", Mountpoint: "/etc/hostname", Fstype: "ext4"}, // bound into a container
		{Device: "/dev/loop3", Mountpoint: data, Fstype: "squashfs"},
	})
	require.Equal(t, []string{deep}, mounts)
}

func BenchmarkProcesses(b *testing.B) {
	p := newProcesses()
	for b.Loop() {
		p.collect(context.Background(), &readings{})
	}
}
