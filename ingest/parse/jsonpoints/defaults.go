package jsonpoints

import (
	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// setDefault parses a value that applies to all points of the request. If a default breaks a
// rule, the request is refused, even if no point uses the default.
func (p *Parser) setDefault(f field, i int, seen fields) int {
	if f == fieldPrecision {
		return p.setPrecision(i)
	}
	var t block.Tokens
	p.expected = block.Tokens{}
	end := p.identityToken(f, i, seen, &t)
	if end == scan.Failed {
		return scan.Failed
	}
	d := &p.batch.Labels.Defaults
	switch f {
	case fieldMetric:
		d.Metric = p.unescape(t.Metric, scan.HasEscape(t.Metric))
		if why := block.CheckMetric(d.Metric); why != rejection.None {
			return p.fail(fault.Field(fault.Invalid, fieldNames[f], why.Text()))
		}
	case fieldTags:
		d.Tags = p.batch.Labels.CopyTags(p.tags)
		why, tag := block.CheckTags(d.Tags)
		if why != rejection.None {
			return p.fail(fault.Field(fault.Invalid, fieldpath.Member(fieldNames[f], tag), why.Text()))
		}
		if len(d.Tags) > block.MaxTags {
			return p.fail(fault.Field(fault.Invalid, fieldNames[f], rejection.TagsMany.Text()).With("limit", block.MaxTags))
		}
	default:
		d.Source = t
	}
	return end
}

// precisions are the valid precisions, for error messages.
var precisions = []string{"s", "ms", "us", "ns"}

func (p *Parser) setPrecision(i int) int {
	name := fieldNames[fieldPrecision]
	if byteAt(p.b, i) != '"' {
		return p.wrongType(i, name, "a string")
	}
	end, escaped := scanString(p.b, i)
	if end < 0 {
		return scan.Failed
	}
	unit, ok := scan.UnitOf(p.unescape(p.b[i:end], escaped))
	if !ok {
		return p.fail(fault.Field(fault.Invalid, name, "is not one of the allowed values", precisions...))
	}
	p.unit = unit
	return end
}

// identityToken parses one of the fields that identify a series into t. A token that is
// equal to the expected one is not parsed again.
func (p *Parser) identityToken(f field, i int, seen fields, t *block.Tokens) int {
	if f == fieldTags {
		if expected := p.expected.Tags; len(expected) > 0 && hasPrefix(p.b[i:], expected) {
			t.Tags = expected
			return i + len(expected)
		}
		end := p.readTags(i)
		if end != scan.Failed {
			t.Tags = p.b[i:end]
		}
		return end
	}
	token, expected := &t.Metric, p.expected.Metric
	if f != fieldMetric {
		if seen.has(fieldSourceID) && seen.has(fieldSource) {
			return p.fail(fault.Field(
				fault.Malformed, p.path(fieldNames[fieldSource]), "cannot be given together with sourceId",
			))
		}
		token, expected, t.ByName = &t.Source, p.expected.Source, f == fieldSource
	}
	if len(expected) > 0 && hasPrefix(p.b[i:], expected) {
		*token = expected
		return i + len(expected)
	}
	if byteAt(p.b, i) != '"' {
		return p.wrongType(i, p.path(fieldNames[f]), "a string")
	}
	end, _ := scanString(p.b, i)
	if end < 0 {
		return scan.Failed
	}
	*token = p.b[i:end]
	return end
}

func hasPrefix(b, prefix []byte) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == string(prefix)
}

// MaxRepeatedTags is the maximum number of tags of an object whose keys are checked for
// duplicates. With more tags, the whole request is refused.
const MaxRepeatedTags = 1024

// tagsOf returns the tags of a token that has been parsed before, in this request or an earlier one.
func (p *Parser) tagsOf(token []byte) []pointblock.Tag {
	if len(token) == 0 {
		return nil
	}
	body := p.b
	p.b = token
	p.readTags(0)
	p.b = body
	return p.batch.Labels.CopyTags(p.tags)
}

// readTags parses an object of tags into p.tags, sorted.
func (p *Parser) readTags(i int) int {
	p.tags, p.tagsRead = p.tags[:0], true
	tags := fieldNames[fieldTags]
	if byteAt(p.b, i) != '{' {
		return p.wrongType(i, p.path(tags), "an object")
	}
	i, more := p.firstMember(i)
	for more {
		if byteAt(p.b, i) != '"' {
			return scan.Failed
		}
		end, escaped := scanString(p.b, i)
		if end < 0 {
			return scan.Failed
		}
		key := p.unescape(p.b[i:end], escaped)
		if i = p.colon(end); i == scan.Failed {
			return scan.Failed
		}
		if byteAt(p.b, i) != '"' {
			return p.wrongType(i, fieldpath.Member(p.path(tags), key), "a string")
		}
		if end, escaped = scanString(p.b, i); end < 0 {
			return scan.Failed
		}
		if len(p.tags) == MaxRepeatedTags {
			return p.fail(fault.Field(fault.Invalid, p.path(tags), rejection.TagsMany.Text()).With("limit", block.MaxTags))
		}
		p.tags = append(p.tags, pointblock.Tag{Key: key, Value: p.unescape(p.b[i:end], escaped)})
		i, more = p.nextMember(end)
	}
	if i == scan.Failed {
		return scan.Failed
	}
	if key, ok := block.SortTags(p.tags); !ok {
		return p.fail(fault.Field(fault.Malformed, fieldpath.Member(p.path(tags), key), "is given more than once"))
	}
	return i
}
