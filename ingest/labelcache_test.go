package ingest

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/test/promwrite"
)

// cachedPipeline is a pipeline to which several requests are sent, so that it has cached labels.
type cachedPipeline struct {
	*fakeStores
	pipeline *Pipeline
}

func newCachedPipeline() *cachedPipeline {
	p := newFakeStores()
	return &cachedPipeline{fakeStores: p, pipeline: p.pipeline(Limits{})}
}

// acceptAlone accepts a request and forgets what earlier requests wrote.
func (r *cachedPipeline) acceptAlone(format Format, req Request) (Result, error) {
	r.messages = nil
	return r.pipeline.Accept(context.Background(), format, req)
}

func (r *cachedPipeline) send(t *testing.T, series ...message) Result {
	t.Helper()
	result, err := r.pipeline.Accept(t.Context(), RemoteWrite, request(promWrite(series...)))
	require.NoError(t, err)
	return result
}

func TestLabelsThatCameBeforeAreTheSameSeries(t *testing.T) {
	p, fresh := newCachedPipeline(), newFakeStores()
	names := func(at int64) []message {
		return []message{
			plain("mode", "idle").Sample(at, float64(at)).Sample(at-1, 1), plain("zone", "é").Sample(at, 2),
			promwrite.Labels("job", "node", "b", "2", "a", "1", "__name__", "up").Sample(at, 3),
			promwrite.Labels("__name__", "up", "a", "1", "b", "2", "job", "node").Sample(at+1, 4),
			plain("bad", "\xff").Sample(at, 1), plain("mode", "idle").Sample(at+2, promwrite.Stale()).Sample(at+3, math.NaN()),
		}
	}
	for at := range int64(4) {
		again, err := fresh.pipeline(Limits{}).Accept(t.Context(), RemoteWrite, request(promWrite(names(10*at+1)...)))
		require.NoError(t, err)
		result := p.send(t, names(10*at+1)...)
		again.Positions, result.Positions = nil, nil
		require.Equal(t, again, result)
	}
	require.Equal(t, fresh.written(t), p.written(t))
	require.Equal(t, 4, p.registered, "cached series are not registered again; three of numbers and a special one")
	require.Equal(t, 3, p.pipeline.labels.Len(), "refused labels are not cached")
}

func TestASourceThatIsCreatedAgainHasItsOwnSeries(t *testing.T) {
	p := newCachedPipeline()
	p.pipeline.setSourceTTL(time.Nanosecond)
	p.send(t, plain().Sample(1, 1))
	other := uuid.New()
	delete(p.sources, nodeSource)
	p.sources[other] = "node/a:1"
	for at := int64(2); at < 4; at++ {
		p.send(t, plain().Sample(at, 2))
	}
	require.Equal(t, map[string]any{
		nodeSource.String() + ` "up"{} 1000 n`: 1.0, other.String() + ` "up"{} 2000 n`: 2.0,
		other.String() + ` "up"{} 3000 n`: 2.0,
	}, p.written(t))
}

func TestLabelsThatAreManyAndEmptyAreNotRemembered(t *testing.T) {
	p := newCachedPipeline()
	long := plain()
	for range 3000 {
		long = append(long, promwrite.Labels("a", "")...)
	}
	p.send(t, long.Sample(1, 1))
	require.Zero(t, p.pipeline.labels.Len(), "long label sets are not cached")
}

func TestManyRequestsShareTheLabels(t *testing.T) {
	p := newFakeStores()
	p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) { return nil, nil }
	pipeline := p.pipeline(Limits{})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 50 {
				var series []message
				for s := range 40 {
					series = append(series, plain("s", fmt.Sprint((s+i)%60)).Sample(int64(i), 1))
				}
				result, err := pipeline.Accept(t.Context(), RemoteWrite, request(promWrite(series...)))
				if err != nil || result.Accepted != 40 {
					t.Errorf("%+v %v", result, err)
				}
			}
		})
	}
	group.Wait()
	require.Equal(t, 60, pipeline.labels.Len())
}

// TestLabelsOfLinesAndJSONThatCameBefore sends random requests through one pipeline, so that many of
// their labels are cached, and compares each with the reference.
func TestLabelsOfLinesAndJSONThatCameBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newCachedPipeline()
		for range rapid.IntRange(2, 4).Draw(t, "requests") {
			if rapid.Bool().Draw(t, "lines") {
				_ = requireAgreementOnLinesBy(t, p, (&lineWriter{t: t}).request(), "")
				continue
			}
			body := []byte((&writer{t: t}).request())
			_ = requireVerdictBy(t, p, JSON, body, interpret(body))
		}
	})
}

// TestCachedLabelsInAnyOrder sends few labels in random order, with repetitions, by several requests of all forms.
// So the label that followed last time is often another one, also with equal tags. Some values are strings, and some
// requests have tags for all of their points.
func TestCachedLabelsInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newCachedPipeline()
		pump := uuid.New()
		p.sources = map[uuid.UUID]string{boiler: "boil er", pump: "pump"}
		at := 0
		for range rapid.IntRange(2, 6).Draw(t, "requests") {
			form := rapid.SampledFrom([]string{"lines", "points", "series"}).Draw(t, "form")
			tagged := form != "lines" && rapid.IntRange(0, 3).Draw(t, "tagged") == 0
			var parts []string
			want := map[string]any{}
			for _, label := range rapid.SliceOfN(rapid.IntRange(0, 4), 1, 12).Draw(t, "labels") {
				at++
				o := orderedPoint{label: label, at: at, source: boiler, name: "boil er"}
				if label%2 == 1 {
					o.source, o.name = pump, "pump"
				}
				o.text = rapid.IntRange(0, 5).Draw(t, "text") == 0
				parts = append(parts, o.in(form))
				key, value := o.written(tagged)
				want[key] = value
			}
			format, body := Lines, strings.Join(parts, "\n")
			if form != "lines" {
				format, body = JSON, fmt.Sprintf(`{"%s":[%s]}`, form, strings.Join(parts, ","))
			}
			if tagged {
				body = `{"tags":{"z":"9"},` + body[1:]
			}
			result, err := p.acceptAlone(format, request(body))
			require.NoError(t, err)
			require.Equal(t, len(want), result.Accepted)
			require.Equal(t, want, p.written(t))
		}
	})
}

// orderedPoint is a point of TestCachedLabelsInAnyOrder.
type orderedPoint struct {
	label, at int
	source    uuid.UUID
	name      string
	text      bool // the value is a string
}

// in returns the point in one of the forms.
func (o orderedPoint) in(form string) string {
	value := fmt.Sprint(o.at)
	if o.text {
		value = strconv.Quote(value)
	}
	switch form {
	case "lines":
		name := strings.ReplaceAll(o.name, " ", `\ `)
		return fmt.Sprintf(`%s,a=%d f=%s %d000000`, name, o.label/2, value, o.at)
	case "points":
		return fmt.Sprintf(`{"source":"%s","metric":"f","tags":{"a":"%d"},"value":%s,"timestamp":%d}`,
			o.name, o.label/2, value, o.at)
	}
	return fmt.Sprintf(`{"source":"%s","metric":"f","tags":{"a":"%d"},"values":[%s],"timestamps":[%d]}`,
		o.name, o.label/2, value, o.at)
}

// written returns the point as fakeStores.written returns it.
func (o orderedPoint) written(tagged bool) (key string, value any) {
	tags, kind := fmt.Sprintf(`"a"="%d",`, o.label/2), "n"
	if tagged {
		tags += `"z"="9",`
	}
	value = float64(o.at)
	if o.text {
		kind, value = "s", fmt.Sprint(o.at)
	}
	return fmt.Sprintf(`%s "f"{%s} %d000 %s`, o.source, tags, o.at, kind), value
}

func TestCachedLabelsFollowTheirSourceAndKind(t *testing.T) {
	p := newCachedPipeline()
	p.pipeline.setSourceTTL(time.Nanosecond)
	const line = `boil\ er,a=1 f=1 1000000`
	const object = `{"points":[{"source":"boil er","metric":"f","tags":{"a":"1"},"value":1,"timestamp":1}]}`
	other := uuid.New()
	for _, id := range []uuid.UUID{boiler, other} {
		clear(p.sources)
		p.sources[id] = "boil er"
		for range 2 {
			for format, body := range map[Format]string{Lines: line, JSON: object} {
				_, err := p.acceptAlone(format, request(body))
				require.NoError(t, err)
				require.Equal(t, map[string]any{id.String() + ` "f"{"a"="1",} 1000 n`: 1.0}, p.written(t))
			}
		}
	}
	_, err := p.acceptAlone(Lines, request(`boil\ er,a=1 f="on" 2000000`+"\n"+`boil\ er,a=1 f=2 3000000`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		other.String() + ` "f"{"a"="1",} 2000 s`: "on", other.String() + ` "f"{"a"="1",} 3000 n`: 2.0,
	}, p.written(t))
	_, err = p.acceptAlone(JSON, request(`{"tags":{"b":"2"},"points":[{"source":"boil er","metric":"f","tags":{"a":"1"},
		"value":1,"timestamp":1}]}`))
	require.NoError(t, err)
	require.Equal(t, map[string]any{other.String() + ` "f"{"a"="1","b"="2",} 1000 n`: 1.0}, p.written(t),
		"the request's tags are part of the series")
	result, err := p.acceptAlone(Lines, request(`boil\ er,a=1 f=1 -5`+"\n"+`boil\ er,a=1 f=2 3000000`))
	require.NoError(t, err)
	require.Equal(t, "timestamp", result.Errors[0].Field)
	for _, value := range []string{"x", `"open`} {
		result, err = p.acceptAlone(Lines, request(`boil\ er,a=1 f=2 3000000`+"\n"+`boil\ er,a=1 f=`+value+" 1"))
		require.NoError(t, err)
		require.Equal(t, "fields.f", result.Errors[0].Field)
	}
	require.Positive(t, p.pipeline.labels.Len())
}
