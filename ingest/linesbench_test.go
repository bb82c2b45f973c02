package ingest

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

// benchLines returns the points of benchRows as lines: all series at the first time, then all at the
// second, and so on.
func benchLines(series, points int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range points {
		for s := range series {
			fmt.Fprintf(&b, "boiler,host=host-%d,rack=r%d metric_%d=%s %d\n", s/10, s%7, s%10,
				strconv.FormatFloat(rng.Float64()*100, 'f', 4, 64), 1_795_000_000_000_000_000+int64(i)*1_000_000_000)
		}
	}
	return b.String()
}

// benchFields returns them as lines with ten fields, like Telegraf.
func benchFields(series, points int) string {
	rng := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	for i := range points {
		for s := range series / 10 {
			fmt.Fprintf(&b, "boiler,host=host-%d,rack=r%d ", s, s%7)
			for f := range 10 {
				if f > 0 {
					b.WriteByte(',')
				}
				fmt.Fprintf(&b, "metric_%d=%s", f, strconv.FormatFloat(rng.Float64()*100, 'f', 4, 64))
			}
			fmt.Fprintf(&b, " %d\n", 1_795_000_000_000_000_000+int64(i)*1_000_000_000)
		}
	}
	return b.String()
}

// benchShuffled returns benchLines in random order.
func benchShuffled(series, points int) string {
	lines := strings.SplitAfter(benchLines(series, points), "\n")
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return strings.Join(lines, "")
}

// lineShapes are the line protocol requests of the benchmarks.
var lineShapes = []benchShape{
	{"series=1", func() string { return benchLines(1, 10_000) }, 10_000},
	{"series=100", func() string { return benchLines(100, 100) }, 10_000},
	{"series=1000", func() string { return benchLines(1000, 10) }, 10_000},
	{"series=1000/points=100", func() string { return benchLines(1000, 100) }, 100_000},
	{"series=1000/fields=10", func() string { return benchFields(1000, 10) }, 10_000},
	{"series=1000/order=random", func() string { return benchShuffled(1000, 10) }, 10_000},
	{"series=10000", func() string { return benchLines(10_000, 1) }, 10_000},
}

func BenchmarkParseLines(b *testing.B)  { parseShapes(b, Lines, lineShapes) }
func BenchmarkAcceptLines(b *testing.B) { acceptShapes(b, Lines, lineShapes) }
