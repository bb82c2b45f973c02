package machine

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
)

// Names of metrics that a view may want to point out.
const (
	CPUUsage    = "usage_percent"
	MemoryUsed  = "used_percent"
	ProcessCPU  = "cpu_percent"
	ProcessRSS  = "rss_bytes"
	coreUsage   = "core_usage_percent"
	mostCores   = 1024
	percentUnit = "percent"
)

// cpuTime measures where the processors' time goes: shares of the time since
// the last round, 100 being all cores busy.
type cpuTime struct{ meter meter }

func newCPU() *cpuTime { return &cpuTime{} }

func (*cpuTime) describe() description {
	return description{
		kind: "cpu", text: "Processor time of this machine, all cores together and each alone",
		metrics: []Metric{
			{CPUUsage, percentUnit, "Time not idle, of all cores together"},
			{"user_percent", percentUnit, "Time in programs, niced ones included"},
			{"system_percent", percentUnit, "Time in the kernel, interrupts included"},
			{"iowait_percent", percentUnit, "Time idle while a disk was awaited"},
			{"steal_percent", percentUnit, "Time the hypervisor gave to others"},
			{coreUsage, percentUnit, "Time not idle, by core"},
		},
	}
}

func (c *cpuTime) collect(ctx context.Context, into *readings) {
	cores, err := cpu.TimesWithContext(ctx, true)
	c.meter.begin(time.Now())
	if err != nil || len(cores) == 0 {
		into.lacks("cpu", reason(err, "the kernel lists no processor"))
		return
	}
	var sum cpu.TimesStat
	for i, core := range cores {
		addTimes(&sum, core)
		if i < mostCores {
			if share, ok := c.shares(core.CPU, core); ok {
				into.addTagged(coreUsage, "core", coreName(core.CPU, i), share.busy)
			}
		}
	}
	share, ok := c.shares("", sum)
	if !ok {
		return
	}
	into.add(CPUUsage, share.busy)
	into.add("user_percent", share.user)
	into.add("system_percent", share.system)
	into.add("iowait_percent", share.iowait)
	into.add("steal_percent", share.steal)
}

type cpuShares struct{ busy, user, system, iowait, steal float64 }

// shares returns the shares of the time since the last round, in percent; false
// in the first round and when no time passed. Guest time is in user already.
func (c *cpuTime) shares(name string, t cpu.TimesStat) (cpuShares, bool) {
	user, userOK := c.meter.growth(name+"/user", t.User+t.Nice)
	system, systemOK := c.meter.growth(name+"/system", t.System+t.Irq+t.Softirq)
	steal, stealOK := c.meter.growth(name+"/steal", t.Steal)
	idle, idleOK := c.meter.growth(name+"/idle", t.Idle)
	iowait, iowaitOK := c.meter.growth(name+"/iowait", t.Iowait)
	if !userOK || !systemOK || !stealOK || !idleOK {
		return cpuShares{}, false
	}
	if !iowaitOK { // the kernel lets this one counter go down
		iowait = 0
	}
	total := user + system + steal + idle + iowait
	if total <= 0 {
		return cpuShares{}, false
	}
	percent := 100 / total
	return cpuShares{
		busy: (user + system + steal) * percent,
		user: user * percent, system: system * percent, iowait: iowait * percent, steal: steal * percent,
	}, true
}

func addTimes(sum *cpu.TimesStat, t cpu.TimesStat) {
	sum.User += t.User
	sum.Nice += t.Nice
	sum.System += t.System
	sum.Irq += t.Irq
	sum.Softirq += t.Softirq
	sum.Steal += t.Steal
	sum.Idle += t.Idle
	sum.Iowait += t.Iowait
}

// coreName returns the number of a core out of the name the system has for it.
func coreName(name string, index int) string {
	number := strings.TrimPrefix(name, "cpu")
	if _, err := strconv.Atoi(number); err != nil {
		return strconv.Itoa(index)
	}
	return number
}

// reason returns err's text, or what is to be said when there is no error.
func reason(err error, without string) string {
	if err == nil {
		return without
	}
	return err.Error()
}
