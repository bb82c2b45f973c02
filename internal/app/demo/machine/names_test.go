package machine

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
		"spaced /7":                   "spaced",
		"worker-18231":                "worker-*",
		"worker-18232":                "worker-*",
		"job.20260101.99":             "job.*.99",
		"  spaced  ":                  "spaced",
		"":                            "unnamed",
		"bad\x00\x1b[31m\nname\xff":   "bad��[31m�name�",
		"/slash-first":                "/slash-first",
		"memfd:sealed-91":             "memfd:sealed-91",
		"Изображение":                 "Изображение",
		string(make([]byte, 500)):     strings.Repeat("�", maxName),
		"chrome_crashpad_handler1234": "chrome_crashpad_handler*",
	} {
		require.Equal(t, name, programName(command), "%q", command)
	}
}

func TestAnyNameBecomesAValidTag(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := string(rapid.SliceOf(rapid.Byte()).Draw(t, "raw"))
		name := programName(raw)
		require.NotEmpty(t, name)
		require.True(t, utf8.ValidString(name))
		require.LessOrEqual(t, utf8.RuneCountInString(name), maxName)
		require.NotContains(t, name, "\x00")
		require.Equal(t, name, programName(name), "cleaning twice changes nothing")
	})
}

func TestInterfacesOfContainersAreOneSeries(t *testing.T) {
	require.Equal(t, "veth*", interfaceName("veth12ab9f"))
	require.Equal(t, "br*", interfaceName("br-77aa01"))
	require.Equal(t, "eth0", interfaceName("eth0"))
	require.Equal(t, "bridge0", interfaceName("bridge0"))
}

func newReadings() *collector {
	r := &collector{keys: map[string]bool{}}
	r.begin(time.Unix(100, 0))
	return r
}

func TestNamesBeyondTheBoundAreSummed(t *testing.T) {
	r := newReadings()
	for i := range maxKeys + 50 {
		r.add("m", "process", fmt.Sprint("name", i), 1)
	}
	require.Len(t, r.values, maxKeys+1)
	require.InDelta(t, 50, r.values[series{"m", "process", other}], 0)
	r.begin(time.Unix(101, 0))
	r.add("m", "process", "name0", 1)
	require.Contains(t, r.values, series{"m", "process", "name0"}, "a name once admitted stays itself")
}

func TestRatesNeedTwoRoundsAndSurviveResets(t *testing.T) {
	r := newReadings()
	at := func(second int64, value float64) map[series]float64 {
		r.begin(time.Unix(1000+second, 0))
		r.rate("m", "", "", "c", value, 2)
		return r.values
	}
	require.Empty(t, at(0, 1000), "the first round has nothing to compare with")
	require.InDelta(t, 500, at(2, 1500)[series{metric: "m"}], 1e-9)
	require.Empty(t, at(3, 10), "a counter that went down was reset")
	require.InDelta(t, 60, at(4, 40)[series{metric: "m"}], 1e-9)
	require.Empty(t, at(4, 50), "no time has passed")
	r.begin(time.Unix(2000, 0))
	require.Empty(t, at(1001, 60), "a counter that was gone for a round is new")
}

func TestPartitionsAreNoDisks(t *testing.T) {
	all := map[string]int{"sda": 0, "sda1": 0, "nvme0n1": 0, "nvme0n1p2": 0, "loop0": 0, "dm-0": 0, "md127": 0}
	for device, disk := range map[string]string{
		"sda": "sda", "sda1": "sda", "nvme0n1": "nvme0n1", "nvme0n1p2": "nvme0n1", "loop0": "", "dm-0": "dm-0",
		"md127": "md127", "server:/x": "server:/x",
	} {
		require.Equal(t, disk, diskOf(device, all), device)
	}
}
