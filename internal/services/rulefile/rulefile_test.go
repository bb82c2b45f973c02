package rulefile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/services/rulefile"
)

const minInterval = 5 * time.Second

func file(rule string) []byte { return []byte("groups:\n- name: a\n  rules:\n  - " + rule) }

func annotated(template string) []byte {
	return file(fmt.Sprintf("{alert: b, expr: '1', annotations: {c: %q}}", template))
}

func TestAFileIsRead(t *testing.T) {
	groups, err := rulefile.Parse([]byte(`
groups:
- name: machines
  interval: 30s
  query_offset: 10s
  limit: 5
  labels: {team: a}
  rules:
  - {record: "a:b", expr: sum(c), labels: {d: e}}
  - alert: Hot
    expr: temperature > 80
    for: 5m
    keep_firing_for: 1m
    labels: {severity: page}
    annotations:
      summary: '{{ $labels.instance }} is at {{ printf "%.1f" $value }} ({{ $value | humanize }})'
      others: '{{ with query "count(up == 0)" }}{{ . | first | value }} are down{{ else }}none{{ end }}'
      job: '{{ if eq $labels.job "a" }}{{ reReplaceAll ":.*" "" $labels.instance | title }}{{ end }}'
`), minInterval)
	require.NoError(t, err)
	require.Equal(t, 2, rulefile.Count(groups))
	loader := rulefile.Loader{"machines": groups}
	loaded, errs := loader.Load("machines", false, model.UTF8Validation)
	require.Empty(t, errs)
	require.Same(t, groups, loaded)
	_, errs = loader.Load("nothing", false, model.UTF8Validation)
	require.NotEmpty(t, errs)
}

// A template that multiplies texts would use all memory of the process, which all tenants share.
func TestTemplatesThatCouldGrowAreRefused(t *testing.T) {
	for template, reason := range map[string]string{
		`{{ range query "up" }}x{{ end }}`:                                  "must not have {{range",
		`{{ $x := "a" }}{{ $x = print $x $x }}`:                             "variables",
		`{{ with $x := "a" }}{{ $x }}{{ end }}`:                             "variables",
		`{{ with print . . }}{{ with print . . }}{{ . }}{{ end }}{{ end }}`: "none in with",
		`{{ define "x" }}{{ template "x" }}{{ end }}{{ template "x" }}`:     "define templates",
		`{{ template "x" }}`:                                                "must not have {{template",
		`{{ block "x" . }}{{ end }}`:                                        "define templates",
		`{{ printf "%1000000d" 1 }}`:                                        "format of printf",
		`{{ printf "%*d" 1000000 1 }}`:                                      "format of printf",
		`{{ printf "%[1]s%[1]s" $labels.a }}`:                               "format of printf",
		`{{ printf "%.1000f" $value }}`:                                     "format of printf",
		`{{ printf $labels.format 1 }}`:                                     "format of printf",
		`{{ "%1000000d" | printf }}`:                                        "format of printf",
		`{{ js (js (js $labels.a)) }}`:                                      "at most 2 of the functions",
		`{{ $labels.a | js | js | js }}`:                                    "at most 2 of the functions",
		`{{ reReplaceAll "" $labels.a $labels.b }}`:                         "reReplaceAll must be texts",
		`{{ reReplaceAll "" "` + strings.Repeat("x", 65) + `" $labels.b }}`: "reReplaceAll must be texts",
		strings.Repeat(`{{ if 1 }}`, 6) + strings.Repeat(`{{ end }}`, 6):    "nested at most 4 deep",
		strings.Repeat(`{{ $value }}`, 41):                                  "at most 40 actions",
		strings.Repeat(`x`, 8<<10+1):                                        "at most 8192 bytes",
		`{{ if (js (js (js $labels.a))) }}{{ end }}`:                        "at most 2 of the functions",
		`{{ (print (print (print $labels.a))).Text }}`:                      "at most 2 of the functions",
		`{{ break }}`: "",
		`{{ with query "up" }}{{ range . }}{{ .Value }}{{ end }}{{ end }}`: "must not have {{range",
		`{{ with query "up" }}a{{ else }}{{ range . }}b{{ end }}{{ end }}`: "must not have {{range",
		`{{ with query "up" }}a{{ else with js (js "x") }}{{ end }}`:       "none in with",
	} {
		_, err := rulefile.Parse(annotated(template), minInterval)
		require.Error(t, err, template)
		require.True(t, fault.Is(err, fault.Invalid), template)
		require.ErrorContains(t, err, reason, template)
		labelled := file(fmt.Sprintf("{alert: b, expr: '1', labels: {c: %q}}", template))
		_, err = rulefile.Parse(labelled, minInterval)
		require.ErrorContains(t, err, reason, template)
	}
}

func TestALongExpressionIsRefusedInTime(t *testing.T) {
	began := time.Now()
	_, err := rulefile.Parse(file("{record: b, expr: '"+strings.Repeat("(", 120_000)+"a"+
		strings.Repeat(")", 120_000)+"'}"), minInterval)
	require.ErrorContains(t, err, "at most 16384 bytes")
	require.Less(t, time.Since(began), 5*time.Second)
}

func TestProblemsHaveLines(t *testing.T) {
	_, err := rulefile.Parse([]byte(`groups:
- name: a
  rules:
  - {record: b, expr: "+"}
  - {record: "c d", alert: e, expr: "1"}
  - {record: f, expr: "1", for: 5m}
`), minInterval)
	var refused *fault.Error
	require.True(t, errors.As(err, &refused))
	problems, ok := refused.Details["problems"].([]rulefile.Problem)
	require.True(t, ok)
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
		require.NotContains(t, p.Reason, "rulefmt")
	}
	require.Equal(t, []int{4, 5, 6}, lines)
	require.Equal(t, 4, refused.Details["line"])
}

func TestBounds(t *testing.T) {
	long := strings.Repeat("x", rulefile.MaxName+1)
	for content, reason := range map[string]string{
		"groups: [{name: " + long + ", rules: []}]":                                          "its name must have",
		"groups: [{name: a, interval: 4s, rules: []}]":                                       "interval must be from 5s",
		"groups: [{name: a, interval: 2d, rules: []}]":                                       "interval must be from 5s",
		"groups: [{name: a, query_offset: 2d, rules: []}]":                                   "query_offset",
		"groups: [{name: a, limit: -1, rules: []}]":                                          "limit must not be negative",
		"groups: [{name: a, rules: [{record: " + long + ", expr: '1'}]}]":                    "its name must have",
		"groups: [{name: a, rules: [{alert: a, expr: '1', for: 31d}]}]":                      "for must be at most",
		"groups: [{name: a, rules: [{alert: a, expr: '1', keep_firing_for: 31d}]}]":          "keep_firing_for must be",
		"groups: [" + strings.Repeat("{name: a, rules: []},", 2) + "]":                       "is repeated",
		"groups: [{name: a, rules: [" + strings.Repeat("{record: a, expr: a},", 501) + "]}]": "at most 500 rules",
	} {
		_, err := rulefile.Parse([]byte(content), minInterval)
		require.ErrorContains(t, err, reason)
	}
	_, err := rulefile.Parse(make([]byte, rulefile.MaxBytes+1), minInterval)
	require.True(t, fault.Is(err, fault.TooLarge))
}

// FuzzRuleFile: a file of any bytes is read, or refused with a reason; what is read can be read again.
func FuzzRuleFile(f *testing.F) {
	f.Add([]byte("groups:\n- name: a\n  interval: 30s\n  rules:\n  - {record: b, expr: sum(c)}\n"))
	f.Add(annotated(`{{ with query "up" }}{{ . | first | value | printf "%.2f" }}{{ end }}`))
	f.Add([]byte(`{"groups":[{"name":"j","rules":[{"alert":"A","expr":"1","for":"5m"}]}]}`))
	f.Add([]byte("a: &a [*a]\ngroups: *a"))
	f.Add([]byte("groups: [{name: a, rules: [{alert: b, expr: '1', labels: {c: '{{ if"))
	f.Fuzz(func(t *testing.T, content []byte) {
		groups, err := rulefile.Parse(content, minInterval)
		if err == nil {
			again, err := rulefile.Decode(content)
			if err != nil || len(again.Groups) != len(groups.Groups) {
				t.Fatalf("cannot be read again: %v", err)
			}
			return
		}
		if !fault.Is(err, fault.Malformed) && !fault.Is(err, fault.Invalid) && !fault.Is(err, fault.TooLarge) {
			t.Fatalf("not the author's error: %v", err)
		}
	})
}
