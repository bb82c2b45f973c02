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

// about is what a line says of its series.
type about struct {
	Workspace uuid.UUID         `json:"workspace"`
	Source    uuid.UUID         `json:"source"`
	Metric    string            `json:"metric"`
	Tags      map[string]string `json:"tags"`
}

func describe(id *pointblock.Identity) about {
	a := about{Workspace: id.Workspace, Source: id.Source, Metric: id.Metric, Tags: map[string]string{}}
	for _, t := range id.Tags {
		a.Tags[t.Key] = t.Value
	}
	return a
}

// line is that of a point.
type line struct {
	about
	Time    string `json:"time"`
	Value   any    `json:"value"` // a number or a string
	Version int64  `json:"version"`
}

// deletedLine is that of a deletion: of a source, or of one of its metrics, from a time
// on (inclusive) and up to another (exclusive) where these are given; or of the
// workspace with all of its sources.
type deletedLine struct {
	Workspace      uuid.UUID  `json:"workspace"`
	Deleted        *uuid.UUID `json:"deleted"` // the source
	Metric         *string    `json:"metric"`
	From           *string    `json:"from"`
	To             *string    `json:"to"`
	WholeSource    bool       `json:"wholeSource"`
	WholeWorkspace bool       `json:"wholeWorkspace"`
	Version        int64      `json:"version"`
}

func deleted(workspace uuid.UUID, d pointblock.Deletion, version int64) deletedLine {
	l := deletedLine{Workspace: workspace, WholeSource: d.WholeSource, WholeWorkspace: d.WholeWorkspace, Version: version}
	if !d.WholeWorkspace {
		l.Deleted = &d.Source
	}
	if d.HasMetric {
		l.Metric = &d.Metric
	}
	if from := stamp(d.FromUS); d.HasFrom {
		l.From = &from
	}
	if to := stamp(d.ToUS); d.HasTo {
		l.To = &to
	}
	return l
}

// summary is the line of a series with what stands of it.
type summary struct {
	about
	Count int     `json:"count"`
	Sum   float64 `json:"sum"` // of numbers
	Last  any     `json:"last"`
}

// print prints a line a series that has points, in the order of their ids.
func (t *table) print(out io.Writer) error {
	var lines []summary
	for _, of := range t.series {
		for _, s := range of {
			if len(s.points) > 0 {
				lines = append(lines, s.summary())
			}
		}
	}
	slices.SortFunc(lines, func(a, b summary) int {
		return cmp.Or(cmp.Compare(a.Source.String(), b.Source.String()), cmp.Compare(a.Metric, b.Metric))
	})
	for _, l := range lines {
		if err := printTo(out, l); err != nil {
			return err
		}
	}
	return nil
}

func (s *series) summary() summary {
	l, last := summary{about: describe(&s.identity)}, int64(-1)
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

func printTo(out io.Writer, line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = out.Write(append(text, '\n'))
	return err
}

func stamp(us int64) string { return time.UnixMicro(us).UTC().Format(time.RFC3339Nano) }
