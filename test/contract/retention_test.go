package contract_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/contract"
)

// retentionFixture is a server with two sources whose points, numbers and strings, are 0, 10,
// 40 and 400 days old; the value of each is its age in days.
type retentionFixture struct {
	*live
	boiler, fan source
	now         time.Time
}

func newRetentionFixture(t *testing.T) *retentionFixture {
	t.Helper()
	a := &retentionFixture{live: startLive(t), now: time.Now().Truncate(time.Second)}
	a.boiler, a.fan = a.createSource(t, `{"name":"boiler"}`), a.createSource(t, `{"name":"fan"}`)
	for _, s := range []source{a.boiler, a.fan} {
		var numbers, texts []sample
		for _, days := range []int{0, 10, 40, 400} {
			us := a.now.AddDate(0, 0, -days).Add(-time.Hour).UnixMicro()
			numbers, texts = append(numbers, sample{us, float64(days), 1}), append(texts, sample{us, fmt.Sprint(days), 1})
		}
		a.store(t, a.Workspace, seriesKey{source: s.ID, metric: "age"}, numbers...)
		a.store(t, a.Workspace, seriesKey{source: s.ID, metric: "text", text: true}, texts...)
		a.store(t, a.Workspace, seriesKey{source: s.ID, metric: "old"}, numbers[3:]...)
	}
	return a
}

func (a *retentionFixture) setRetention(t *testing.T, s source, days any) {
	t.Helper()
	require.Equal(
		t, http.StatusOK,
		a.Do(t, contract.Request{
			Method: http.MethodPatch, Path: sourcesPath + "/" + s.ID, Body: fmt.Sprintf(`{"retentionDays":%v}`, days),
		}).Status,
	)
}

func (a *retentionFixture) setWorkspaceRetention(t *testing.T, days *int32) {
	t.Helper()
	_, err := a.DB.UpdateWorkspace(t.Context(), a.Workspace, access.WorkspaceChange{RetentionDays: &days})
	require.NoError(t, err)
}

// ages returns the last column of every row of a query's answer, by source and metric.
func (a *retentionFixture) ages(t *testing.T, params string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, r := range a.query(t, params) {
		name := ""
		if r.SourceName != nil && r.Metric != nil {
			name = *r.SourceName + " " + *r.Metric
		}
		var ages []any
		for _, row := range r.Points {
			ages = append(ages, row[len(row)-1])
		}
		slices.Reverse(ages)
		found[name] = strings.TrimSpace(fmt.Sprintln(ages...))
	}
	return found
}

func TestPointsPastTheirRetentionAreInNoAnswer(t *testing.T) {
	t.Parallel()
	a := newRetentionFixture(t)
	const everything = "from=0&to=now"
	all := a.ages(t, everything)
	require.Equal(t, map[string]string{
		"boiler age": "0 10 40 400", "boiler text": "0 10 40 400", "boiler old": "400",
		"fan age": "0 10 40 400", "fan text": "0 10 40 400", "fan old": "400",
	}, all)

	a.setRetention(t, a.boiler, 11)
	check := func(boiler, fan string, boilerCount, fanCount, both float64) {
		t.Helper()
		raw := a.ages(t, everything)
		require.Equal(t, boiler, raw["boiler age"])
		require.Equal(t, fan, raw["fan age"])
		require.Equal(
			t, raw["boiler age"], a.ages(t, "metric=age&sourceId="+a.boiler.ID+"&"+everything)["boiler age"],
			"alone as with others",
		)
		counts := a.query(t, "metric=age&aggregation=count&"+everything)
		require.Equal(t, boilerCount, counts[slices.IndexFunc(counts, func(r rows) bool {
			return *r.SourceName == "boiler"
		})].Points[0][1])
		require.Equal(t, fanCount, counts[slices.IndexFunc(counts, func(r rows) bool {
			return *r.SourceName == "fan"
		})].Points[0][1])
		grouped := a.query(t, "metric=age&aggregation=count&groupBy=none&"+everything)
		require.Equal(t, both, grouped[0].Points[0][1])
		require.Equal(
			t, "1970-01-01T00:00:00Z", grouped[0].Points[0][0], "the row is stamped with the range as it was asked for",
		)
		texts := a.query(t, "metric=text&aggregation=count&groupBy=none&interval=30d&"+everything)
		sum := 0.0
		for _, row := range texts[0].Points {
			sum += row[1].(float64)
		}
		require.Equal(t, both, sum)
		var series []struct {
			SourceName, Metric string
			Count              float64
			FirstSeen          *time.Time
		}
		a.Get(t, "/api/live-data/series", &series)
		for _, s := range series {
			switch s.SourceName + " " + s.Metric {
			case "boiler age", "boiler text":
				require.Equal(t, boilerCount, s.Count)
				require.Greater(t, *s.FirstSeen, a.now.AddDate(0, 0, -11))
			case "boiler old":
				require.Zero(t, s.Count)
				require.Nil(t, s.FirstSeen)
			case "fan age", "fan text":
				require.Equal(t, fanCount, s.Count)
			}
		}
		latest := a.ages(t, "latest=true")
		require.Equal(t, "0", latest["boiler age"])
		require.Empty(t, latest["boiler old"], "the newest is past its retention")
	}
	check("0 10", "0 10 40 400", 2, 4, 6)
	a.setWorkspaceRetention(t, ptr(int32(100)))
	check("0 10", "0 10 40", 2, 3, 5)
	a.setRetention(t, a.boiler, 36_500)
	a.setWorkspaceRetention(t, ptr(int32(11)))
	check("0 10", "0 10", 2, 2, 4)
	a.setWorkspaceRetention(t, nil)
	a.setRetention(t, a.boiler, "null")
	require.Equal(t, all, a.ages(t, everything), "nothing is removed by asking")
}

func TestPagesOfPointsEndAtTheRetention(t *testing.T) {
	t.Parallel()
	a := newRetentionFixture(t)
	a.setRetention(t, a.boiler, 41)
	path := "/api/live-data/query?metric=age&pointsLimit=1&from=0&to=now&sourceId=" + a.boiler.ID
	var seen []any
	for cursor := ""; ; {
		answer := a.Do(t, contract.Request{Path: path + cursor})
		list := decode[[]rows](t, answer, http.StatusOK)
		for _, r := range list {
			for _, row := range r.Points {
				seen = append(seen, row[1])
			}
		}
		next := nextCursor(t, answer)
		if next == nil {
			break
		}
		cursor = "&cursor=" + escape(*next)
	}
	require.Equal(t, []any{40.0, 10.0, 0.0}, seen)
}

func TestPointsThatAreTooOldAreRejectedAndTheOthersAccepted(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	l.createSource(t, `{"name":"boiler","retentionDays":1}`)
	now := time.Now()
	body := func(days ...int) string {
		text := `{"source":"boiler","metric":"m","series":[{"values":[`
		stamps := ""
		for i, d := range days {
			if i > 0 {
				text, stamps = text+",", stamps+","
			}
			text, stamps = text+"1", stamps+fmt.Sprint(now.AddDate(0, 0, -d).UnixMilli())
		}
		return text + `],"timestamps":[` + stamps + `]}]}`
	}
	var answer struct {
		Accepted, Rejected int
		Errors             []struct{ Field, Reason string }
	}
	a := l.post(t, "/api/live-data/ingest", body(0, 2, 3))
	answer = decode[struct {
		Accepted, Rejected int
		Errors             []struct{ Field, Reason string }
	}](t, a, http.StatusCreated)
	require.Equal(t, 1, answer.Accepted)
	require.Equal(t, 2, answer.Rejected)
	require.Equal(t, "series[0].timestamps[1]", answer.Errors[0].Field)
	require.Contains(t, answer.Errors[0].Reason, "retentionDays")
	for _, q := range []string{"", "?strict=true"} {
		a := l.post(t, "/api/live-data/ingest"+q, body(2))
		require.Equal(t, http.StatusUnprocessableEntity, a.Status)
	}
	require.Equal(t, http.StatusUnprocessableEntity, l.post(t, "/api/live-data/ingest?strict=true", body(0, 2)).Status)
}

func TestRetentionIsAWholeNumberOfDaysUpToACentury(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	s := l.createSource(t, `{"name":"boiler"}`)
	for text, status := range map[string]int{
		"1": 200, "36500": 200, "null": 200, "0": 422, "-1": 422, "36501": 422, "2147483647": 422,
		"2147483648": 400, "9223372036854775807": 400, "106751992": 422, "1.5": 400, `"30"`: 400, "true": 400,
	} {
		a := l.Do(t, contract.Request{
			Method: http.MethodPatch, Path: sourcesPath + "/" + s.ID, Body: `{"retentionDays":` + text + `}`,
		})
		if status != 200 && (a.Status == 400 || a.Status == 422) {
			require.Equal(t, "retentionDays", a.Error.Details["field"], text)
			continue // whether it is 400 or 422 depends on the decoder
		}
		require.Equal(t, status, a.Status, "%s: %s", text, a.Body)
	}
}

func TestTheSeriesOfADeletedSourceDoNotCount(t *testing.T) {
	t.Parallel()
	l := startLive(t)
	_, err := l.DB.UpdateWorkspace(t.Context(), l.Workspace, access.WorkspaceChange{
		MaxSeries: ptr(int64(2)), MaxSources: ptr(int64(2)),
	})
	require.NoError(t, err)
	a := l.createSource(t, `{"name":"a"}`)
	b := l.createSource(t, `{"name":"b"}`)
	full := l.post(t, sourcesPath, `{"name":"c"}`)
	full.RequireFailure(
		t, http.StatusUnprocessableEntity, validation, "", map[string]any{"field": "sources", "limit": 2.0},
	)
	l.register(t, l.Workspace, seriesKey{source: a.ID, metric: "m"})
	l.register(t, l.Workspace, seriesKey{source: a.ID, metric: "n"})
	refused := l.post(t, "/api/live-data/ingest", `{"sourceId":"`+b.ID+`","metric":"m","points":[{"value":1}]}`)
	refused.RequireFailure(t, http.StatusUnprocessableEntity, validation, "", nil)
	require.Contains(t, refused.Error.Details["reason"], "maxSeries")
	require.Equal(
		t, http.StatusNoContent, l.Do(t, contract.Request{Method: http.MethodDelete, Path: sourcesPath + "/" + a.ID}).Status,
	)
	require.Equal(
		t, http.StatusCreated,
		l.post(t, "/api/live-data/ingest", `{"sourceId":"`+b.ID+`","metric":"m","points":[{"value":1}]}`).Status,
	)
	l.createSource(t, `{"name":"c","id":"`+uuid.NewString()+`"}`)
}
