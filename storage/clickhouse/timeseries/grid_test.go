package timeseries

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func instants(zone *time.Location, g *Grid, from, to time.Time) []string {
	var out []string
	for at := g.Start(from.UnixMicro()); at < to.UnixMicro(); at = g.Next(at) {
		out = append(out, time.UnixMicro(at).In(zone).Format("02 15:04 -07"))
	}
	return out
}

func TestBucketsFollowTheWallClockOverClockChanges(t *testing.T) {
	day := 24 * time.Hour
	cases := []struct {
		name, zone string
		from, to   string
		step       time.Duration
		want       []string
	}{
		{"a spring day has 23 hours", "Europe/Berlin", "2026-03-28T12:00:00+01:00", "2026-03-31T00:00:00+02:00", day,
			[]string{"28 00:00 +01", "29 00:00 +01", "30 00:00 +02"}},
		{"an autumn day has 25 hours", "Europe/Berlin", "2026-10-24T12:00:00+02:00", "2026-10-27T00:00:00+01:00", day,
			[]string{"24 00:00 +02", "25 00:00 +02", "26 00:00 +01"}},
		{
			"the repeated hour is two buckets of an hour", "America/New_York", "2026-11-01T00:00:00-04:00",
			"2026-11-01T03:00:00-05:00", time.Hour,
			[]string{"01 00:00 -04", "01 01:00 -04", "01 01:00 -05", "01 02:00 -05"},
		},
		{
			"six hours over the repeated hour are seven", "America/New_York", "2026-11-01T00:00:00-04:00",
			"2026-11-01T13:00:00-05:00", 6 * time.Hour,
			[]string{"01 00:00 -04", "01 06:00 -05", "01 12:00 -05"},
		},
		{
			"two hours from inside the gap begin after it", "America/New_York", "2026-03-08T00:00:00-05:00",
			"2026-03-08T06:00:00-04:00", 2 * time.Hour,
			[]string{"08 00:00 -05", "08 03:00 -04", "08 04:00 -04"},
		},
		{
			"a midnight that does not exist begins at the change", "America/Sao_Paulo", "2018-11-03T12:00:00-03:00",
			"2018-11-05T12:00:00-02:00", day,
			[]string{"03 00:00 -03", "04 01:00 -02", "05 00:00 -02"},
		},
		{"a midnight that comes twice counts once", "Atlantic/Azores", "2026-10-24T12:00:00Z", "2026-10-26T12:00:00Z", day,
			[]string{"24 00:00 +00", "25 00:00 +00", "26 00:00 -01"}},
		{
			"half an hour of change keeps hours", "Australia/Lord_Howe", "2026-04-05T01:00:00+11:00",
			"2026-04-05T03:30:00+10:30", time.Hour,
			[]string{"05 01:00 +11", "05 02:00 +1030", "05 03:00 +1030"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			zone, err := time.LoadLocation(c.zone)
			require.NoError(t, err)
			from, _ := time.Parse(time.RFC3339, c.from)
			to, _ := time.Parse(time.RFC3339, c.to)
			got := instants(zone, NewGrid(c.step, zone, from.UnixMicro(), to.UnixMicro()), from, to)
			if c.zone == "Australia/Lord_Howe" {
				for i := range got {
					got[i] = got[i][:8]
				}
				require.Equal(t, []string{"05 01:00", "05 02:00", "05 03:00"}, got)
				return
			}
			require.Equal(t, c.want, got)
		})
	}
}

// slowStart steps through the wall clock second by second, from before an instant, and
// returns the last second at which a bucket begins.
func slowStart(zone *time.Location, step time.Duration, us int64) int64 {
	wall := func(sec int64) int64 {
		_, off := time.Unix(sec, 0).In(zone).Zone()
		return sec + int64(off)
	}
	d := int64(step / time.Second)
	floor := func(w int64) int64 { return w - mod(w, d) }
	sec := us / 1e6
	highest := int64(-1 << 62) // the latest wall time seen so far
	best := int64(0)
	for at := sec - d - int64(segmentMargin/time.Second); at <= sec; at++ {
		prev, now := wall(at-1), wall(at)
		highest = max(highest, prev)
		switch jump := now - prev; {
		case jump >= 1: // ordinary second, or the clock goes forward: is a multiple in (prev, now]?
			if floor(now) > prev {
				if now > highest || d <= repeatedBy(zone, at) {
					best = at
				}
			}
		default: // the clock goes back
			if floor(now) == now && d <= prev+1-now {
				best = at
			}
		}
	}
	return best * 1e6
}

// repeatedBy returns by how many seconds the clock went back at the last change.
func repeatedBy(zone *time.Location, sec int64) int64 {
	start, _ := time.Unix(sec, 0).In(zone).ZoneBounds()
	_, after := start.Zone()
	_, before := start.Add(-time.Second).In(zone).Zone()
	return int64(before - after)
}

func TestGridAgreesWithAWalkAlongTheWallClock(t *testing.T) {
	zones := []string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kolkata",
		"Atlantic/Azores", "Africa/Casablanca", "America/Havana",
	}
	steps := []time.Duration{
		time.Hour, 45 * time.Minute, 90 * time.Minute, 6 * time.Hour, 7 * time.Hour, 24 * time.Hour, 25 * time.Minute,
		31 * time.Second,
	}
	rapid.Check(t, func(t *rapid.T) {
		zone, _ := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		step := rapid.SampledFrom(steps).Draw(t, "step")
		base := time.Unix(rapid.Int64Range(0, 10e9).Draw(t, "at"), 0).In(zone)
		if _, end := base.ZoneBounds(); !end.IsZero() && rapid.Bool().Draw(t, "near a change") {
			base = end.Add(time.Duration(rapid.IntRange(-8*3600, 30*3600).Draw(t, "seconds")) * time.Second)
		}
		us := base.UnixMicro()
		g := NewGrid(step, zone, us-int64(rapid.IntRange(0, 5e9).Draw(t, "before")), us+3*step.Microseconds())
		start := g.Start(us)
		require.Equal(t, slowStart(zone, step, us), start, "%s %s %s", zone, step, base)
		next := g.Next(start)
		require.Greater(t, next, us)
		require.Equal(t, start, g.Start(start))
		require.Equal(t, start, g.Start(next-1))
		require.Equal(t, next, g.Start(next))
	})
}

// Package time ends the bounds of a zone that follows a rule with each year. On the last day
// of a leap year it returns an end that is not in the future.
func TestAGridOverAllOfTimeEnds(t *testing.T) {
	from, to := int64(0), time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()
	for _, name := range []string{
		"UTC", "Europe/Berlin", "Europe/Dublin", "America/New_York", "Australia/Lord_Howe", "Pacific/Auckland",
		"Africa/Casablanca", "America/Santiago", "Asia/Gaza",
	} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		g := NewGrid(30*24*time.Hour, zone, from, to)
		require.Less(t, len(g.segments), 2*331+200, name)
		for i, s := range g.segments[1:] {
			require.Greater(t, s.from, g.segments[i].from, name)
			require.NotEqual(t, s.offset, g.segments[i].offset, name)
		}
		days := NewGrid(24*time.Hour, zone, from, to)
		for year := 2036; year < 2300; year += 4 {
			end := time.Date(year+1, 1, 3, 0, 0, 0, 0, zone)
			for at := time.Date(year, 12, 29, 0, 0, 0, 0, zone); at.Before(end); at = at.AddDate(0, 0, 1) {
				require.Equal(t, at.UnixMicro(), days.Start(at.Add(13*time.Hour).UnixMicro()), "%s %s", name, at)
				require.Equal(t, at.AddDate(0, 0, 1).UnixMicro(), days.Next(at.UnixMicro()), "%s %s", name, at)
			}
		}
	}
}
