package machine

import (
	"context"
	"maps"
	"slices"

	"github.com/shirou/gopsutil/v4/sensors"
)

const (
	mostSensors = 32
	// Outside these a sensor is not connected or not read right.
	coldest, hottest = -60, 200
)

// temperature reads the sensors, where there are any.
type temperature struct{ names *roster }

func newTemperature() *temperature { return &temperature{names: newRoster(mostSensors)} }

func (*temperature) describe() description {
	return description{
		kind: "temperature", text: "Temperatures of this machine, by sensor",
		metrics: []Metric{{"celsius", "celsius", "Temperature; the highest where sensors share a name"}},
	}
}

func (t *temperature) collect(ctx context.Context, into *readings) {
	// The error lists sensors that could not be read; the others are there.
	found, err := sensors.TemperaturesWithContext(ctx)
	highest := map[string]float64{}
	for _, s := range found {
		if s.Temperature == 0 || s.Temperature < coldest || s.Temperature > hottest {
			continue
		}
		name := t.names.admit(cleanName(s.SensorKey))
		if known, ok := highest[name]; !ok || s.Temperature > known {
			highest[name] = s.Temperature
		}
	}
	if len(highest) == 0 {
		into.lacks("temperatures", reason(err, "no sensor is visible, as is usual in containers and virtual machines"))
		return
	}
	for _, name := range slices.Sorted(maps.Keys(highest)) {
		into.addTagged("celsius", "sensor", name, highest[name])
	}
}
