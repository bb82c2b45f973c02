package machine

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
	r := &collector{}
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

func TestOneBusyRoundDoesNotShuffleTheList(t *testing.T) {
	b := &busiest{}
	round := func(steady, spike float64) []*usage {
		return b.top(map[string]*usage{"steady": {name: "steady", cpu: steady}, "spike": {name: "spike", cpu: spike}})
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
	for device, parent := range map[string]string{
		"sda": "", "sda1": "sda", "nvme0n1": "", "nvme0n1p2": "nvme0n1", "loop0": "loop0", "dm-0": "", "md127": "",
	} {
		require.Equal(t, parent, parentDisk(device, all), device)
	}
}

func TestAFileBelongsToTheFileSystemNearestToIt(t *testing.T) {
	var mounts []Mount
	for _, path := range []string{"/", "/mnt", "/mnt/disk"} {
		mounts = append(mounts, Mount{UsageStat: disk.UsageStat{Path: path}})
	}
	for file, want := range map[string]string{
		"/etc/passwd": "/", "/mnt": "/mnt", "/mnt/disk/a": "/mnt/disk", "/mnt/diskette": "/mnt", "/mntx": "/",
		"pipe:[1]": "", "/dev/null": "", "/memfd:x (deleted)": "", "/proc/1/stat": "", "anon_inode:[eventpoll]": "",
	} {
		require.Equal(t, want, mountOf(file, mounts), file)
	}
}

func TestSizesAreShort(t *testing.T) {
	for bytes, text := range map[float64]string{
		0: "0 B", 512: "512 B", 1536: "1.5 KiB", 512 << 20: "512 MiB", 1023 << 30: "1023 GiB", 25276510208: "23.54 GiB",
		1 << 60: "1024 PiB",
	} {
		require.Equal(t, text, Size(bytes))
		require.Equal(t, text, Size(uint64(bytes)))
	}
}
