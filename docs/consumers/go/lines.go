package main

import (
	"cmp"
	"encoding/json"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// seriesInfo identifies the series of a line.
type seriesInfo struct {
	Workspace uuid.UUID         `json:"workspace"`
	Source    uuid.UUID         `json:"source"`
	Metric    string            `json:"metric"`
	Tags      map[string]string `json:"tags"`
}

func infoOf(id *pointblock.Identity) seriesInfo {
	a := seriesInfo{Workspace: id.Workspace, Source: id.Source, Metric: id.Metric, Tags: map[string]string{}}
	for _, t := range id.Tags {
		a.Tags[t.Key] = t.Value
	}
	return a
}

// pointLine is the line of a point.
type pointLine struct {
	seriesInfo
	Time    string `json:"time"`
	Value   any    `json:"value"` // a number or a string
	Version int64  `json:"version"`
}

// deletionLine is the line of a deletion: of a source, or of one of its metrics, from a time
// (inclusive) to another (exclusive) if these are given; or of the workspace with all of its
// sources.
type deletionLine struct {
	Workspace      uuid.UUID  `json:"workspace"`
	Deleted        *uuid.UUID `json:"deleted"` // the source
	Metric         *string    `json:"metric"`
	From           *string    `json:"from"`
	To             *string    `json:"to"`
	WholeSource    bool       `json:"wholeSource"`
	WholeWorkspace bool       `json:"wholeWorkspace"`
	Version        int64      `json:"version"`
}

func newDeletionLine(workspace uuid.UUID, d pointblock.Deletion, version int64) deletionLine {
	l := deletionLine{Workspace: workspace, WholeSource: d.WholeSource, WholeWorkspace: d.WholeWorkspace, Version: version}
	if !d.WholeWorkspace {
		l.Deleted = &d.Source
	}
	if d.HasMetric {
		l.Metric = &d.Metric
	}
	if from := formatTime(d.FromUS); d.HasFrom {
		l.From = &from
	}
	if to := formatTime(d.ToUS); d.HasTo {
		l.To = &to
	}
	return l
}

// seriesSummary is the line of a series with its current points.
type seriesSummary struct {
	seriesInfo
	Count int     `json:"count"`
	Sum   float64 `json:"sum"` // of numbers
	Last  any     `json:"last"`
}

// print prints a line for each series with points, sorted by source and metric.
func (t *table) print(out io.Writer) error {
	var lines []seriesSummary
	for _, ofSource := range t.series {
		for _, s := range ofSource {
			if len(s.points) > 0 {
				lines = append(lines, s.summary())
			}
		}
	}
	slices.SortFunc(lines, func(a, b seriesSummary) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.Metric, b.Metric))
	})
	for _, l := range lines {
		if err := printLine(out, l); err != nil {
			return err
		}
	}
	return nil
}

func (s *series) summary() seriesSummary {
	l, last := seriesSummary{seriesInfo: infoOf(&s.identity)}, int64(-1)
	for at, p := range s.points {
		l.Count++
		if number, ok := p.value.(float64); ok {
			l.Sum += number
		}
		if at > last {
			last, l.Last = at, p.value
		}
	}
	return l
}

func printLine(out io.Writer, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

func formatTime(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339Nano) }
