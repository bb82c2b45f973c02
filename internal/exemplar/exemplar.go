// Package exemplar encodes exemplars of Prometheus as texts: references from a sample of a series to an event outside
// of the metrics, usually the id of a trace (https://prometheus.io/docs/specs/om/open_metrics_spec/#exemplars).
//
// A text is the labels as a JSON object, a space, and the value:
//
//	{"trace_id":"4bf92f3577b34da6a3ce929d0e0e4736"} 0.67
//
// The labels are sorted by name. Equal exemplars have equal texts, so that one which is sent again is the same row. A
// series can have several exemplars of one time: their texts are lines of one text, see [Join] and [Split].
package exemplar

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// MaxRunes is the maximum number of characters of all names and values of the labels, as in Prometheus.
	MaxRunes = 128
	// MaxOfTime is the maximum number of exemplars that a series can have of one time in a record.
	MaxOfTime = 100
)

// Errors of exemplars that are not stored. Prometheus refuses them, too.
var (
	ErrLong   = errors.New("the labels of the exemplar have more than 128 characters")
	ErrLabels = errors.New("the labels of the exemplar are not valid")
	errText   = errors.New("not the text of an exemplar")
)

// Label is a label of an exemplar.
type Label struct{ Name, Value string }

// Append appends the text of an exemplar to dst. It sorts the labels in place, and leaves out those without a value.
// The error is ErrLong if they are too long, and ErrLabels if a name is empty or given twice, or if a text is not UTF-8
// or contains a zero byte. Then dst is returned as it was.
func Append(dst []byte, value float64, labels []Label) (text []byte, err error) {
	labels = slices.DeleteFunc(labels, func(l Label) bool { return l.Value == "" })
	if Runes(labels) > MaxRunes {
		return dst, ErrLong
	}
	slices.SortFunc(labels, func(a, b Label) int { return cmp.Compare(a.Name, b.Name) })
	for i, l := range labels {
		if !isValid(l.Name) || !isValid(l.Value) || l.Name == "" || i > 0 && labels[i-1].Name == l.Name {
			return dst, ErrLabels
		}
	}
	text = dst
	text = append(text, '{')
	for i, l := range labels {
		if i > 0 {
			text = append(text, ',')
		}
		text, _ = jsontext.AppendQuote(text, l.Name) // it is UTF-8
		text = append(text, ':')
		text, _ = jsontext.AppendQuote(text, l.Value)
	}
	return strconv.AppendFloat(append(text, "} "...), value, 'g', -1, 64), nil
}

func isValid(text string) bool { return utf8.ValidString(text) && strings.IndexByte(text, 0) < 0 }

// Runes returns the number of characters of all names and values.
func Runes(labels []Label) (n int) {
	for _, l := range labels {
		n += utf8.RuneCountInString(l.Name) + utf8.RuneCountInString(l.Value)
	}
	return n
}

// LabelsOf returns the labels in the text of one exemplar, as a JSON object.
func LabelsOf(text string) string { return text[:max(strings.LastIndexByte(text, ' '), 0)] }

// Join returns one text of the texts of exemplars of one time, which it sorts: of several with the same labels, the
// last one, and at most MaxOfTime. It returns the number of exemplars in the text.
func Join(texts []string) (text string, count int) {
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(LabelsOf(a), LabelsOf(b)) })
	kept := texts[:0]
	for i, t := range texts {
		if i+1 < len(texts) && LabelsOf(texts[i+1]) == LabelsOf(t) {
			continue
		}
		if kept = append(kept, t); len(kept) == MaxOfTime {
			break
		}
	}
	if len(kept) == 1 {
		return kept[0], 1
	}
	return strings.Join(kept, "\n"), len(kept)
}

// Split calls each with the labels, as a JSON object, and the value of every exemplar in a text of Join. It returns an
// error, and may have called each, if the text is not one that Join returns.
func Split(text string, each func(labels string, value float64)) error {
	for line := range strings.SplitSeq(text, "\n") {
		labels, number, _ := strings.Cut(line[len(LabelsOf(line)):], " ")
		value, err := strconv.ParseFloat(number, 64)
		if labels != "" || err != nil {
			return errText
		}
		labels = LabelsOf(line)
		parsed, err := Labels(labels)
		if err != nil {
			return err
		}
		var scratch [256]byte
		again, err := Append(scratch[:0], value, parsed)
		if err != nil || string(again) != line {
			return errText
		}
		each(labels, value)
	}
	return nil
}

// Labels returns the labels of a JSON object, in its order.
func Labels(object string) (labels []Label, err error) {
	d := jsontext.NewDecoder(strings.NewReader(object))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '{' {
		return nil, errText
	}
	for d.PeekKind() != '}' {
		var pair [2]string
		for i := range pair {
			token, err := d.ReadToken()
			if err != nil || token.Kind() != '"' {
				return nil, fmt.Errorf("%w: its labels are not texts", errText)
			}
			pair[i] = token.String()
		}
		labels = append(labels, Label{Name: pair[0], Value: pair[1]})
	}
	return labels, nil
}
