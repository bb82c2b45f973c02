package ingest

import (
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// setDefault reads what the request says for all its points. A default that
// breaks a rule is refused with the request, used or not.
func (p *parser) setDefault(f field, i int, seen fields) int {
	if f == fieldPrecision {
		return p.setPrecision(i)
	}
	var t tokens
	end := p.identityToken(f, i, seen, &t, nil)
	if end == failed {
		return failed
	}
	d := &p.batch.labels.defaults
	switch f {
	case fieldMetric:
		d.metric = p.unescape(t.metric, hasEscape(t.metric))
		if why := checkMetric(d.metric); why != accepted {
			return p.fail(fault.Field(fault.Invalid, fieldNames[f], why.text()))
		}
	case fieldTags:
		d.tags = p.batch.labels.keep(p.tags)
		why, culprit := checkTags(d.tags)
		if why != accepted {
			return p.fail(fault.Field(fault.Invalid, memberPath(fieldNames[f], culprit), why.text()))
		}
		if len(d.tags) > maxTags {
			return p.fail(fault.Field(fault.Invalid, fieldNames[f], tagsMany.text()).With("limit", maxTags))
		}
	default:
		d.source = t
	}
	return end
}

// precisions are the names of the units, for a caller who misspelt one.
var precisions = []string{"s", "ms", "us", "ns"}

func (p *parser) setPrecision(i int) int {
	name := fieldNames[fieldPrecision]
	if at(p.b, i) != '"' {
		return p.wrongType(i, name, "a string")
	}
	end, escaped := scanString(p.b, i)
	if end < 0 {
		return failed
	}
	unit, ok := unitOf(p.unescape(p.b[i:end], escaped))
	if !ok {
		return p.fail(fault.Field(fault.Invalid, name, "is not one of the allowed values", precisions...))
	}
	p.unit = unit
	return end
}

// identityToken reads one of the fields that name a series and notes its token.
// What stands there word for word as in the expected label is not read again.
func (p *parser) identityToken(f field, i int, seen fields, t *tokens, expected *label) int {
	if f == fieldTags {
		if expected != nil && len(expected.tokens.tags) > 0 && hasPrefix(p.b[i:], expected.tokens.tags) {
			t.tags = expected.tokens.tags
			return i + len(t.tags)
		}
		end := p.readTags(i)
		if end != failed {
			t.tags = p.b[i:end]
		}
		return end
	}
	token := &t.metric
	var known []byte
	if f == fieldMetric {
		if expected != nil {
			known = expected.tokens.metric
		}
	} else {
		if seen.has(fieldSourceID) && seen.has(fieldSource) {
			return p.fail(fault.Field(
				fault.Malformed, p.path(fieldNames[fieldSource]), "cannot be given together with sourceId",
			))
		}
		token, t.byName = &t.source, f == fieldSource
		if expected != nil && expected.byName == t.byName {
			known = expected.tokens.source
		}
	}
	if len(known) > 0 && hasPrefix(p.b[i:], known) {
		*token = known
		return i + len(known)
	}
	if at(p.b, i) != '"' {
		return p.wrongType(i, p.path(fieldNames[f]), "a string")
	}
	end, _ := scanString(p.b, i)
	if end < 0 {
		return failed
	}
	*token = p.b[i:end]
	return end
}

func hasPrefix(b, prefix []byte) bool {
	return len(b) >= len(prefix) && string(b[:len(prefix)]) == string(prefix)
}

// maxRepeatedTags is how many tags an object may have for its keys to be compared; beyond, the
// request as a whole is refused.
const maxRepeatedTags = 1024

// readTags reads an object of tags into p.tags, sorted.
func (p *parser) readTags(i int) int {
	p.tags = p.tags[:0]
	tags := fieldNames[fieldTags]
	if at(p.b, i) != '{' {
		return p.wrongType(i, p.path(tags), "an object")
	}
	i, more := p.firstMember(i)
	for more {
		if at(p.b, i) != '"' {
			return failed
		}
		end, escaped := scanString(p.b, i)
		if end < 0 {
			return failed
		}
		key := p.unescape(p.b[i:end], escaped)
		if i = p.colon(end); i == failed {
			return failed
		}
		if at(p.b, i) != '"' {
			return p.wrongType(i, memberPath(p.path(tags), key), "a string")
		}
		if end, escaped = scanString(p.b, i); end < 0 {
			return failed
		}
		if len(p.tags) == maxRepeatedTags {
			return p.fail(fault.Field(fault.Invalid, p.path(tags), tagsMany.text()).With("limit", maxTags))
		}
		p.tags = append(p.tags, pointblock.Tag{Key: key, Value: p.unescape(p.b[i:end], escaped)})
		i, more = p.nextMember(end)
	}
	if i == failed {
		return failed
	}
	if key, ok := sortTags(p.tags); !ok {
		return p.fail(fault.Field(fault.Malformed, memberPath(p.path(tags), key), "is given more than once"))
	}
	return i
}
