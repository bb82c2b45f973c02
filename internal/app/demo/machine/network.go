package machine

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/shirou/gopsutil/v4/net"
)

const mostInterfaces = 32

// network measures the traffic of the interfaces.
type network struct {
	meter meter
	names *roster
}

func newNetwork() *network { return &network{names: newRoster(mostInterfaces)} }

func (*network) describe() description {
	return description{
		kind: "network", text: "Traffic of this machine, by network interface; interfaces of containers are summed",
		metrics: []Metric{
			{"received_bytes_per_second", "bytes/s", "Bytes received"},
			{"sent_bytes_per_second", "bytes/s", "Bytes sent"},
			{"received_packets_per_second", "1/s", "Packets received"},
			{"sent_packets_per_second", "1/s", "Packets sent"},
			{"errors_per_second", "1/s", "Packets with an error, both ways"},
			{"drops_per_second", "1/s", "Packets dropped, both ways"},
		},
	}
}

func (n *network) collect(ctx context.Context, into *readings) {
	interfaces, err := net.IOCountersWithContext(ctx, true)
	n.meter.begin(time.Now())
	if err != nil {
		into.lacks("network", err.Error())
		return
	}
	sums := map[string]map[string]float64{} // metric -> interface -> rate
	found := 0
	for _, c := range interfaces {
		if c.BytesRecv+c.BytesSent == 0 {
			continue // never used: nothing to show, and there can be many
		}
		found++
		name := n.names.admit(interfaceName(c.Name))
		add := func(metric string, value uint64) {
			// The rate is taken before the sum: an interface that goes away
			// must not look like a counter that was reset.
			rate, ok := n.meter.rate(c.Name+"/"+metric, float64(value))
			if !ok {
				return
			}
			if sums[metric] == nil {
				sums[metric] = map[string]float64{}
			}
			sums[metric][name] += rate
		}
		add("received_bytes_per_second", c.BytesRecv)
		add("sent_bytes_per_second", c.BytesSent)
		add("received_packets_per_second", c.PacketsRecv)
		add("sent_packets_per_second", c.PacketsSent)
		add("errors_per_second", c.Errin+c.Errout)
		add("drops_per_second", c.Dropin+c.Dropout)
	}
	if found == 0 {
		into.lacks("network", "no interface has had any traffic")
	}
	for _, metric := range n.describe().metrics {
		for _, name := range slices.Sorted(maps.Keys(sums[metric.Name])) {
			into.addTagged(metric.Name, "interface", name, sums[metric.Name][name])
		}
	}
}
