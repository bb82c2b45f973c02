package mcpserver

import (
	"bytes"
	"encoding/json"
	"sort"
	"strconv"
	"strings"

	"github.com/livegraph/livegraph/internal/platform/truncate"
)

const (
	// maxAnswerBytes is the maximum size of the results of an answer, about 4,000 tokens of a model.
	maxAnswerBytes = 16 << 10
	// maxText is the maximum number of bytes of a text in a list, and maxShortText of those of an item that is too large
	// otherwise.
	maxText      = 600
	maxShortText = 60
	// maxQuoted is the maximum number of bytes of the text of an answer to a question.
	maxQuoted = 6 << 10
	// defaultLimit and maxLimit are the number of items of an answer.
	defaultLimit = 10
	maxLimit     = 50
	// maxName is the maximum number of bytes of a name or a path.
	maxName = 200
)

// answer is the answer of a tool.
type answer struct {
	Results   []json.RawMessage `json:"results,omitempty"`
	Result    json.RawMessage   `json:"result,omitempty"`
	Total     *int64            `json:"total,omitempty"`
	Next      map[string]any    `json:"next,omitempty"` // arguments with which the tool continues
	Cut       []cutText         `json:"cut,omitempty"`
	Citations []citation        `json:"citations,omitempty"`
	Notes     []string          `json:"notes,omitempty"`
	Interval  string            `json:"interval,omitempty"`
	RequestID string            `json:"requestId"`
}

// cutText is a text of which the answer has only the beginning.
type cutText struct {
	Path  string `json:"path"` // such as results[0].node.description
	Bytes int    `json:"bytes"`
}

// citation is a node or a source that the answer is about.
type citation struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	URI  string `json:"uri"`
}

// clampLimit returns the number of items to request.
func clampLimit(limit int) int {
	if limit == 0 {
		return defaultLimit
	}
	return min(limit, maxLimit)
}

// newAnswer returns an answer without results.
func newAnswer(r *response) *answer {
	a := &answer{
		Total:     r.Meta.Total,
		RequestID: truncate.Bytes(r.RequestID, maxName),
		Interval:  truncate.Bytes(r.Meta.Interval, maxName),
	}
	for i, part := range r.Meta.Degraded {
		if i == defaultLimit {
			break
		}
		a.Notes = append(a.Notes, "Without "+truncate.Bytes(part, maxName)+", which is unavailable or was too large.")
	}
	for _, warning := range r.Warnings[:min(len(r.Warnings), defaultLimit)] {
		a.Notes = append(a.Notes, truncate.Bytes(warning, maxText))
	}
	if r.Meta.Truncated {
		a.Notes = append(a.Notes, "There are more edges than are followed; some results may be missing.")
	}
	return a
}

// listAnswer returns the answer for a page of a list that begins at offset. It ends before the item with which it would
// be too large; the next page begins there. cite returns the citations of an item.
func listAnswer(r *response, offset int, cite func(item map[string]any) []citation) (*answer, error) {
	a := newAnswer(r)
	var items []map[string]any
	if err := decode(r.Data, &items); err != nil {
		return nil, err
	}
	size, cited := 0, map[string]bool{}
	for i, item := range items {
		found := cite(item)
		text, cut, err := encodeItem(item, "results["+strconv.Itoa(i)+"]")
		if err != nil {
			return nil, err
		}
		if size += len(text); size > maxAnswerBytes && i > 0 {
			a.Next = map[string]any{"offset": offset + i}
			return a, nil
		}
		a.Results, a.Cut = append(a.Results, text), append(a.Cut, cut...)
		for _, c := range found {
			if !cited[c.URI] {
				cited[c.URI] = true
				a.Citations = append(a.Citations, c)
			}
		}
	}
	if r.Meta.HasMore && len(items) > 0 {
		a.Next = map[string]any{"offset": offset + len(items)}
	}
	return a, nil
}

// skip sets the data of a response to a list without its first items, of a route that returns all items. It returns how
// many were skipped.
func (r *response) skip(list []json.RawMessage, offset int) (skipped int, err error) {
	skipped = min(offset, len(list))
	r.Data, err = encode(list[skipped:])
	return skipped, err
}

// objectAnswer returns the answer for the response of a route that returns one object, still without a result, and
// the object.
func objectAnswer(r *response, err error) (*answer, map[string]any, error) {
	if err != nil {
		return nil, nil, err
	}
	var object map[string]any
	if err := decode(r.Data, &object); err != nil {
		return nil, nil, err
	}
	return newAnswer(r), object, nil
}

// itemAnswer returns the answer whose result is the object of a response, with the citations that cite returns.
func itemAnswer(r *response, err error, cite func(item map[string]any) []citation) (any, error) {
	a, item, err := objectAnswer(r, err)
	if err != nil {
		return nil, err
	}
	a.Citations = cite(item)
	a.Result, a.Cut, err = encodeItem(item, "result")
	return a, err
}

// uncited returns no citations of an item.
func uncited(map[string]any) []citation { return nil }

// encodeItem encodes an item in at most maxAnswerBytes, with its long texts cut.
func encodeItem(item map[string]any, path string) (text json.RawMessage, cut []cutText, err error) {
	return encodeWithin(item, path, maxText, maxShortText)
}

// encodeWithin encodes an item in at most maxAnswerBytes. It cuts the item's texts to the first limit, and to the next
// one while the item is too large.
func encodeWithin(item map[string]any, path string, limits ...int) (text json.RawMessage, cut []cutText, err error) {
	for _, limit := range limits {
		cut = nil
		short := shorten(item, path, limit, &cut)
		if text, err = encode(short); err != nil || len(text) <= maxAnswerBytes {
			return text, cut, err
		}
	}
	all := len(text)
	text, err = encode(map[string]any{"beginning": truncate.Bytes(string(text), maxAnswerBytes/3)})
	return text, append(cut, cutText{Path: path, Bytes: all}), err
}

// shorten returns a value whose texts have at most limit bytes. It appends the others to cut.
func shorten(value any, path string, limit int, cut *[]cutText) any {
	switch v := value.(type) {
	case string:
		if len(v) > limit {
			if len(*cut) < maxLimit {
				*cut = append(*cut, cutText{Path: truncate.Bytes(path, maxName), Bytes: len(v)})
			}
			return truncate.Bytes(v, limit) + "…"
		}
	case map[string]any:
		keys := make([]string, 0, len(v))
		for key := range v {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		short := make(map[string]any, len(v))
		for _, key := range keys {
			if v[key] != nil {
				short[key] = shorten(v[key], path+"."+key, limit, cut)
			}
		}
		return short
	case []any:
		short := make([]any, len(v))
		for i := range v {
			short[i] = shorten(v[i], path+"["+strconv.Itoa(i)+"]", limit, cut)
		}
		return short
	}
	return value
}

// decode decodes JSON and keeps the text of numbers.
func decode(text []byte, value any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return d.Decode(value)
}

func nodeCitation(node any) []citation {
	n, _ := node.(map[string]any)
	id, _ := n["id"].(string)
	name, _ := n["name"].(string)
	if id == "" {
		return nil
	}
	short := truncate.Bytes(id, maxName)
	return []citation{{ID: short, Name: truncate.Bytes(name, maxName), URI: nodeURI + short}}
}

func sourceCitation(item map[string]any) []citation {
	id, _ := item["sourceId"].(string)
	name, _ := item["sourceName"].(string)
	if id == "" {
		return nil
	}
	short := truncate.Bytes(id, maxName)
	return []citation{{ID: short, Name: truncate.Bytes(name, maxName), URI: sourceURI + short}}
}

// textAt returns the text at a path such as description or properties.key.
func textAt(item map[string]any, path string) (text string, ok bool) {
	if key, inProperties := strings.CutPrefix(path, "properties."); inProperties {
		properties, _ := item["properties"].(map[string]any)
		text, ok = properties[key].(string)
		return text, ok
	}
	text, ok = item[path].(string)
	return text, ok
}
