package ingest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// acceptLines sends lines through a new pipeline.
func acceptLines(t testing.TB, body, precision string) (*fakeStores, Result, error) {
	t.Helper()
	p := newFakeStores()
	req := request(body)
	req.Precision = precision
	result, err := p.pipeline(Limits{}).Accept(context.Background(), Lines, req)
	return p, result, err
}

func TestLinesAreTakenInEveryForm(t *testing.T) {
	at := func(us int64, value any) map[string]any {
		kind := "n"
		if _, ok := value.(string); ok {
			kind = "s"
		}
		return map[string]any{fmt.Sprintf(`%s "f"{} %d %s`, boiler, us, kind): value}
	}
	one := func(value any) map[string]any { return at(1, value) }
	of := func(source uuid.UUID, metric, tags string, value any) map[string]any {
		return map[string]any{fmt.Sprintf(`%s %q{%s} 1 n`, source, metric, tags): value}
	}
	created := func(name string) uuid.UUID { return uuid.NewSHA1(workspace, []byte(name)) }
	now := received.UnixMicro()
	for name, c := range map[string]struct {
		body, precision string
		want            map[string]any
	}{
		"float": {"boiler f=21.5 1000\n", "", one(21.5)}, "negative": {"boiler f=-21.5 1000\n", "", one(-21.5)},
		"plus": {"boiler f=+1 1000\n", "", one(1.0)}, "exponent": {"boiler f=1e3 1000\n", "", one(1000.0)},
		"large exponent":            {"boiler f=1E+3 1000\n", "", one(1000.0)},
		"no digits after the point": {"boiler f=1. 1000\n", "", one(1.0)},
		"none before":               {"boiler f=.5 1000\n", "", one(0.5)},
		"leading zeros":             {"boiler f=007 1000\n", "", one(7.0)},
		"tiny":                      {"boiler f=1e-400 1000\n", "", one(0.0)},
		"long": {
			"boiler f=123456789012345678901234567890 1000\n", "", one(123456789012345678901234567890.0),
		},
		"integer": {"boiler f=3i 1000\n", "", one(3.0)}, "negative integer": {"boiler f=-3i 1000\n", "", one(-3.0)},
		"largest integer":  {"boiler f=9223372036854775807i 1000\n", "", one(9223372036854775807.0)},
		"smallest":         {"boiler f=-9223372036854775808i 1000\n", "", one(-9223372036854775808.0)},
		"unsigned":         {"boiler f=3u 1000\n", "", one(3.0)},
		"largest unsigned": {"boiler f=18446744073709551615u 1000\n", "", one(18446744073709551615.0)},
		"t":                {"boiler f=t 1000\n", "", one(1.0)}, "T": {"boiler f=T 1000\n", "", one(1.0)},
		"true": {"boiler f=true 1000\n", "", one(1.0)}, "True": {"boiler f=True 1000\n", "", one(1.0)},
		"TRUE": {"boiler f=TRUE 1000\n", "", one(1.0)},
		"f":    {"boiler f=f 1000\n", "", one(0.0)}, "F": {"boiler f=F 1000\n", "", one(0.0)},
		"false": {"boiler f=false 1000\n", "", one(0.0)}, "False": {"boiler f=False 1000\n", "", one(0.0)},
		"FALSE":  {"boiler f=FALSE 1000\n", "", one(0.0)},
		"string": {`boiler f="on" 1000`, "", one("on")}, "empty string": {`boiler f="" 1000`, "", one("")},
		"quote in it":               {`boiler f="a \"b\"" 1000`, "", one(`a "b"`)},
		"backslash at its end":      {`boiler f="c:\\" 1000`, "", one(`c:\`)},
		"backslash before a letter": {`boiler f="a\nb" 1000`, "", one(`a\nb`)},
		"line end in it":            {"boiler f=\"a\nb\" 1000", "", one("a\nb")},
		"what separates in it":      {`boiler f="a, b=c #" 1000`, "", one("a, b=c #")},
		"a line in it":              {"boiler f=\"\npump g=1 1\n\" 1000", "", one("\npump g=1 1\n")},
		"longest": {
			`boiler f="` + strings.Repeat("x", 1024) + `" 1000`, "", one(strings.Repeat("x", 1024)),
		},
		"no time": {"boiler f=1", "", at(now, 1.0)}, "no time, space": {"boiler f=1 \n", "", at(now, 1.0)},
		"no time, tab and carriage return": {"boiler f=1 \t\r\n", "", at(now, 1.0)},
		"n":                                {"boiler f=1 1999", "n", one(1.0)}, "ns": {"boiler f=1 1999", "ns", one(1.0)},
		"u": {"boiler f=1 1", "u", one(1.0)}, "us": {"boiler f=1 1", "us", one(1.0)}, "µs": {"boiler f=1 1", "µs", one(1.0)},
		"ms": {"boiler f=1 2", "ms", at(2000, 1.0)}, "s": {"boiler f=1 2", "s", at(2_000_000, 1.0)},
		"m": {"boiler f=1 2", "m", at(120_000_000, 1.0)}, "h": {"boiler f=1 2", "h", at(7_200_000_000, 1.0)},
		"time zero": {"boiler f=1 0", "", at(0, 1.0)}, "minus zero": {"boiler f=1 -0", "", at(0, 1.0)},
		"a day ahead":     {fmt.Sprintf("boiler f=1 %d", now+scan.DayUS), "us", at(now+scan.DayUS, 1.0)},
		"carriage return": {"boiler f=1 1000\r\n\r\n", "", one(1.0)}, "at the very end": {"boiler f=1 1000\r", "", one(1.0)},
		"space around":     {" \tboiler   f=1  \t1000 \t\n\n", "", one(1.0)},
		"comments":         {"# boiler f=2 1000\n  #\nboiler f=1 1000\n#", "", one(1.0)},
		"byte order mark":  {"\ufeffboiler f=1 1000", "", one(1.0)},
		"same point twice": {"boiler f=1 1000\nboiler f=2 1000", "", one(2.0)},
		"same field twice": {"boiler f=1,f=2 1000", "", one(2.0)},
		"tags":             {"boiler,b=2,a=1 f=1 1000", "", of(boiler, "f", `"a"="1","b"="2",`, 1.0)},
		"tags in any order": {
			"boiler,b=2,a=1 f=1 1000\nboiler,a=1,b=2 f=2 1000", "", of(boiler, "f", `"a"="1","b"="2",`, 2.0),
		},
		"escapes in tags":   {`boiler,k\ \,\==v\ \,\= f=1 1000`, "", of(boiler, "f", `"k ,="="v ,=",`, 1.0)},
		"other backslashes": {`boiler,dir=c:\dir\\x f=1 1000`, "", of(boiler, "f", `"dir"="c:\\dir\\\\x",`, 1.0)},
		"quotes in tags":    {`boiler,a="x" f=1 1000`, "", of(boiler, "f", `"a"="\"x\"",`, 1.0)},
		"escapes in a key":  {`boiler k\ \,\==1 1000`, "", of(boiler, "k ,=", "", 1.0)},
		"of a new source":   {`new\ one\,\=,a=b f=1 1000`, "", of(created(`new one,\=`), "f", `"a"="b",`, 1.0)},
		"equals sign there": {`a=b f=1 1000`, "", of(created("a=b"), "f", "", 1.0)},
		"two backslashes":   {`a\\ b f=1 1000`, "", of(created(`a\ b`), "f", "", 1.0)},
	} {
		t.Run(name, func(t *testing.T) {
			p, result, err := acceptLines(t, c.body, c.precision)
			require.NoError(t, err)
			require.Equal(t, c.want, p.written(t))
			require.Equal(t, []Rejection{}, result.Errors)
		})
	}
}

func TestABadLineIsRejectedAndTheRestKept(t *testing.T) {
	syntax := func(why rejection.Reason) string { return why.Text() }
	tags := func(n int) (text string) {
		for i := range n {
			text += fmt.Sprintf(",t%d=x", i)
		}
		return text
	}
	for name, c := range map[string]struct {
		line, field string
		why         rejection.Reason
		count       int
	}{
		"measurement alone":            {"m", "fields", rejection.LineNoField, 1},
		"and tags":                     {"m,a=b", "fields", rejection.LineNoField, 1},
		"carriage return alone":        {"m\r", "fields", rejection.LineNoField, 1},
		"spaces":                       {"m,a=b   ", "fields", rejection.LineNoField, 1},
		"no measurement":               {",a=b f=1", "measurement", rejection.LineMeasurement, 1},
		"escaped space at the end":     {`m,a=b\ f=1`, "fields", rejection.LineNoField, 1},
		"backslash at the end":         {`m f=1\`, "fields.f", rejection.LineValue, 1},
		"key alone":                    {"m f", "fields", rejection.LineField, 1},
		"no key":                       {"m =1", "fields", rejection.LineField, 1},
		"value missing":                {"m f=", "fields.f", rejection.LineValue, 1},
		"value missing before another": {"m f=,g=1", "fields.f", rejection.LineValue, 1},
		"missing before the time":      {"m f= 1", "fields.f", rejection.LineValue, 1},
		"comma at the end":             {"m f=1,", "fields", rejection.LineField, 1},
		"two commas":                   {"m f=1,,g=2", "fields", rejection.LineField, 1},
		"space after a comma":          {"m f=1, g=2", "fields", rejection.LineField, 1},
		"tag without value":            {"m,a= f=1", "tags", rejection.LineTag, 1},
		"without key":                  {"m,=b f=1", "tags", rejection.LineTag, 1},
		"without equals":               {"m,a f=1", "tags", rejection.LineTag, 1},
		"two equals":                   {"m,a=b=c f=1", "tags", rejection.LineTag, 1},
		"comma after":                  {"m,a=b, f=1", "tags", rejection.LineTag, 1},
		"tag twice":                    {"m,a=b,c=d,a=e f=1", "tags.a", rejection.TagTwice, 1},
		"65 tags":                      {"m" + tags(65) + " f=1,g=2", "tags", rejection.TagsMany, 2},
		"not a number":                 {"m f=NaN", "fields.f", rejection.LineValue, 1},
		"infinity":                     {"m f=-inf", "fields.f", rejection.LineValue, 1},
		"hexadecimal":                  {"m f=0x10", "fields.f", rejection.LineValue, 1},
		"underscore":                   {"m f=1_000", "fields.f", rejection.LineValue, 1},
		"word":                         {"m f=on", "fields.f", rejection.LineValue, 1},
		"odd case":                     {"m f=tRUE", "fields.f", rejection.LineValue, 1},
		"two points":                   {"m f=1.2.3", "fields.f", rejection.LineValue, 1},
		"fraction with i":              {"m f=1.5i", "fields.f", rejection.LineValue, 1},
		"exponent with i":              {"m f=1e3i", "fields.f", rejection.LineValue, 1},
		"negative unsigned":            {"m f=-1u", "fields.f", rejection.LineValue, 1},
		"i alone":                      {"m f=i", "fields.f", rejection.LineValue, 1},
		"tab after a value":            {"m f=1\t1000", "fields.f", rejection.LineValue, 1},
		"beyond float64":               {"m f=1e400", "fields.f", rejection.ValueRange, 1},
		"beyond int64":                 {"m f=9223372036854775808i", "fields.f", rejection.ValueRange, 1},
		"beyond uint64":                {"m f=18446744073709551616u", "fields.f", rejection.ValueRange, 1},
		"quote unclosed":               {`m f="x`, "fields.f", rejection.LineQuote, 1},
		"text after a quote":           {`m f="x"y`, "fields.f", rejection.LineQuote, 1},
		"quote in a quote":             {`m f="x "y" z"`, "fields.f", rejection.LineQuote, 1},
		"escaped at the end":           {`m f="x\"`, "fields.f", rejection.LineQuote, 1},
		"string too long":              {`m f="` + strings.Repeat("x", 1025) + `"`, "fields.f", rejection.ValueLong, 1},
		"NUL":                          {"m f=\"a\x00b\"", "fields.f", rejection.ValueNUL, 1},
		"key too long": {
			"m " + strings.Repeat("x", 257) + "=1", "fields." + strings.Repeat("x", 100) + "…", rejection.MetricLong, 1,
		}, "tag too long": {"m,a=" + strings.Repeat("x", 1025) + " f=1", "tags.a", rejection.TagValueLong, 1},
		"time with a fraction":                 {"m f=1 1.5", "timestamp", rejection.TimeFraction, 1},
		"as a date":                            {"m f=1 2026-11-21T07:40:08Z", "timestamp", rejection.TimeFraction, 1},
		"with a plus":                          {"m f=1 +1", "timestamp", rejection.TimeFraction, 1},
		"before 1970":                          {"m f=1,g=2 -1", "timestamp", rejection.TimeEarly, 2},
		"beyond 2^64":                          {"m f=1 99999999999999999999", "timestamp", rejection.TimeLate, 1},
		"far before":                           {"m f=1 -99999999999999999999", "timestamp", rejection.TimeEarly, 1},
		"far ahead":                            {"m f=1 9223372036854775807", "timestamp", rejection.TimeLate, 1},
		"text after the time":                  {"m f=1 1 1", "timestamp", rejection.LineTail, 1},
		"no UTF-8 in a tag":                    {"m,a=\xff f=1", "line", rejection.LineUTF8, 1},
		"in a key":                             {"m \xff=1", "line", rejection.LineUTF8, 1},
		"in a string":                          {"m f=\"\xff\"", "line", rejection.LineUTF8, 1},
		"control character in the measurement": {"m\tx f=1", "measurement", rejection.SourceName, 1},
		"too long":                             {strings.Repeat("é", 257) + " f=1", "measurement", rejection.SourceName, 1},
		"only spaces":                          {`\ \  f=1`, "measurement", rejection.SourceName, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p, result, err := acceptLines(t, "boiler f=1 1000\n\n"+c.line+"\nboiler f=\"after it\" 1000\n", "")
			require.NoError(t, err)
			require.Equal(t, 2, result.Accepted)
			require.Equal(t, c.count, result.Rejected)
			line := 3
			require.Equal(
				t, []Rejection{{Index: 2, Line: &line, Field: c.field, Reason: syntax(c.why), Count: c.count}}, result.Errors,
			)
			one := fmt.Sprintf(`%s "f"{} 1 `, boiler)
			require.Equal(t, map[string]any{one + "n": 1.0, one + "s": "after it"}, p.written(t))
			require.Empty(t, p.created, "no source is created for rejected points")
		})
	}
}

func TestATimeThatBeginsLikeTheLastOneIsAnother(t *testing.T) {
	p, result, err := acceptLines(
		t, "boiler f=1 1\nboiler f=2 12\nboiler f=3 1\nboiler f=4 1.5\nboiler f=5 123\r\nboiler f=6 12 \nboiler f=7 12", "us",
	)
	require.NoError(t, err)
	require.Equal(t, 1, result.Rejected)
	one := fmt.Sprintf(`%s "f"{} `, boiler)
	require.Equal(t, map[string]any{one + "1 n": 3.0, one + "12 n": 7.0, one + "123 n": 5.0}, p.written(t))
}

func TestTheOtherFieldsOfALineAreKept(t *testing.T) {
	p, result, err := acceptLines(t, "boiler f=1,g=1e400,h=\"x\" 1000", "")
	require.NoError(t, err)
	require.Equal(t, 2, result.Accepted)
	require.Equal(t, "fields.g", result.Errors[0].Field)
	require.Len(t, p.written(t), 2)
}

// The content of a string must not be parsed as a line if the line that contains it is invalid.
func TestALineInAStringOfABadLineIsNoLine(t *testing.T) {
	for _, around := range []string{
		"boiler note=\"%s\" 1.5\n", "boiler note=\"%s\",f=NaN 1\n", "boiler,a= note=\"%s\" 1\n",
		"boiler f=on,note=\"%s\" 1\n", "boiler note=\"%s\" 1 1\n",
	} {
		_, _, err := acceptLines(t, fmt.Sprintf(around, "\npump f=1 1000\n"), "")
		require.True(t, fault.Is(err, fault.Invalid), "%q: %v", around, err)
	}
}

func TestSourcesAreMadeOnFirstSightOnly(t *testing.T) {
	p := newFakeStores()
	pipeline := p.pipeline(Limits{})
	for range 3 {
		_, err := pipeline.Accept(t.Context(), Lines, request("new,a=1 f=1\nnew,a=2 f=1\nboiler f=1\nother\\ one f=1"))
		require.NoError(t, err)
	}
	require.Equal(t, []string{"new", "other one"}, p.created)
	require.Equal(t, 1, p.lookups)
}

func TestOnlyFormatsThatNameSourcesMakeThem(t *testing.T) {
	p := newFakeStores()
	_, err := p.pipeline(Limits{}).Accept(t.Context(), JSON, request(
		`{"points":[{"source":"new","metric":"m","value":1}]}`,
	))
	_, _, reason := problem(t, err)
	require.Equal(t, rejection.SourceUnknown.Text(), reason)
	require.Empty(t, p.created)
}

func TestBeyondTheLimitOfSourcesPointsAreRejected(t *testing.T) {
	p := newFakeStores()
	p.maxSources = 3 // two exist already
	result, err := p.pipeline(Limits{}).Accept(t.Context(), Lines, request("boiler f=1\na f=1\nb f=1,g=2\na f=2\nb f=3"))
	require.NoError(t, err)
	require.Equal(t, 3, result.Accepted)
	line := 3
	require.Equal(
		t, []Rejection{{Index: 2, Line: &line, Field: "measurement", Reason: rejection.SourceLimit.Text(), Count: 3}},
		result.Errors,
	)
}

func TestWhereSourcesCannotBeMadeNothingIsWritten(t *testing.T) {
	p := newFakeStores()
	p.failCreate = fault.New(fault.Unavailable, "The database is not available").After(time.Second)
	_, err := p.pipeline(Limits{}).Accept(t.Context(), Lines, request("boiler f=1\nnew f=1"))
	require.True(t, fault.Is(err, fault.Unavailable))
	require.Empty(t, p.messages)
}

func TestLinesHaveTheLimitsOfARequest(t *testing.T) {
	pipeline := newFakeStores().pipeline(Limits{MaxPoints: 3})
	for body, ok := range map[string]bool{
		"m f=1\nm f=2\nm f=3": true, "m f=1\nm f=2\nm f=3\nm f=4": false, "m f=1,g=1,h=1": true, "m f=1,g=1,h=1,i=1": false,
		"m f=1\nx\nx\nx": false, "m f=1\n# \n\n\nm f=2": true, "m " + strings.Repeat("f=1,", 10) + "f=": false,
	} {
		_, err := pipeline.Accept(t.Context(), Lines, request(body))
		require.Equal(t, ok, err == nil, "%q: %v", body, err)
		if !ok {
			require.True(t, fault.Is(err, fault.TooLarge))
		}
	}
}

func TestAPrecisionThatThereIsNotIsRefused(t *testing.T) {
	_, _, err := acceptLines(t, "m f=1", "d")
	kind, field, _ := problem(t, err)
	require.Equal(t, fault.Malformed, kind)
	require.Equal(t, "precision", field)
}

func TestLinesAllocateByRequestNotByPoint(t *testing.T) {
	for name, body := range map[string]string{
		"lines": benchLines(100, 100), "fields": benchFields(1000, 10),
		"strings":    strings.Repeat("boiler s=\"a \\\"b\\\"\" 1000\n", 1000),
		"integers":   strings.Repeat("boiler f=1i,g=t,h=.5 1000\n", 1000),
		"rejections": "boiler f=1\n" + strings.Repeat("m\nm f=\nm f=1e999\nm f=1 -1\n", 1000),
		"escapes":    strings.Repeat("boi\\ ler,a\\ b=c\\,d f\\ f=1 1000\n", 1000),
	} {
		t.Run(name, func(t *testing.T) {
			p := newFakeStores()
			p.produce = func(context.Context, []pointblock.Message) ([]pointblock.Position, error) { return nil, nil }
			pipeline, req := p.pipeline(Limits{}), request(body)
			send := func() {
				if _, err := pipeline.Accept(context.Background(), Lines, req); err != nil {
					t.Error(err)
				}
			}
			send()
			require.Less(t, testing.AllocsPerRun(20, send), 100.0)
		})
	}
}

func TestAbuseByLinesIsAnsweredQuickly(t *testing.T) {
	for name, body := range map[string]string{
		"quotes that close each other": strings.Repeat("m f=\"\n", 5<<20),
		"quotes that nobody closes":    "m f=\"" + strings.Repeat("m f=1x\n", 4<<20),
		"bad heads with quotes":        strings.Repeat("m,=\" \"x=\"\n", 3<<20),
		"escaped quotes":               strings.Repeat("m f=\"\\\n", 4<<20),
		"tags":                         "m" + strings.Repeat(",a=b", 7<<20) + " f=1",
		"fields":                       "m " + strings.Repeat("f=1,", 7<<20),
		"bad fields":                   "m " + strings.Repeat("f=1e999,", 3<<20) + "f=",
		"backslashes":                  "m" + strings.Repeat("\\", 30<<20), "spaces": strings.Repeat(" ", 30<<20),
		"empty lines": strings.Repeat("\n", 30<<20), "comments": strings.Repeat("#\n", 15<<20),
		"a long number": "m f=" + strings.Repeat("1", 30<<20), "a long string": "m f=\"" + strings.Repeat("x", 30<<20) + "\"",
		"equals and quotes": "m f=1 " + strings.Repeat("=\"", 15<<20),
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			_, _, err := acceptLines(t, body, "")
			require.Less(t, time.Since(began), time.Minute) // quadratic time would take much longer
			require.Error(t, err)
			require.Less(t, len(err.Error()), 1000)
		})
	}
}
