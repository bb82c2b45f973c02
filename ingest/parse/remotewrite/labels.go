package remotewrite

import (
	"encoding/binary"
	"hash/maphash"
	"strings"
	"unicode/utf8"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/ingest/rejection"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Labels of Prometheus that do not become tags.
const (
	metricName    = "__name__"
	jobLabel      = "job"
	instanceLabel = "instance"
)

// defaultSource is the source name of series that have neither job nor instance, which
// is common for recording rules and alerts, or of which they cannot name a source.
const defaultSource = "prometheus"

// lastSource is the source of the last label set. Series of one target are usually
// adjacent in a request.
type lastSource struct {
	job, instance string
	name          string
	source        int32 // index in the batch
	parsed        bool  // the fields above are set
}

// label returns the index of the block.Label for a label set of Prometheus. raw
// contains Label messages, each with its tag and length as in the TimeSeries. It
// returns false if raw is not valid.
func (p *Parser) label(raw []byte) (index int32, ok bool) {
	b := p.batch
	t := block.Tokens{Tags: raw}
	if index = p.cache.Predict(b, block.FormLabels, &t); index >= 0 {
		return index, true
	}
	l := block.Label{Tokens: t, Hash: maphash.Bytes(b.Labels.Seed, raw)}
	if index = b.Labels.FindHashed(&l.Tokens, l.Hash); index >= 0 {
		return index, true
	}
	if !p.cache.Lookup(b, block.FormLabels, &l) && !p.readLabels(&l) {
		return 0, false
	}
	return b.Labels.Insert(l), true
}

// readLabels parses the bytes of l into its metric, tags and source, and records in l
// the rule that they break. Labels with an empty value count as absent, as in
// Prometheus. It returns false if the bytes are not valid.
func (p *Parser) readLabels(l *block.Label) bool {
	raw := l.Tokens.Tags
	p.batch.Labels.Parse(l)
	var job, instance string
	p.tags = p.tags[:0]
	sorted, named := true, false
	for i := 0; i < len(raw); {
		from, end := protobuf.BytesField(raw, i+1)
		key, value, ok := readLabel(raw[:end], from)
		if !ok {
			return false
		}
		i = end
		if value == "" {
			continue
		}
		switch key {
		case metricName:
			if named {
				l.Refuse(rejection.TagTwice, key)
			}
			l.Metric, named = value, true
		case jobLabel:
			if job != "" {
				l.Refuse(rejection.TagTwice, key)
			}
			job = value
		case instanceLabel:
			if instance != "" {
				l.Refuse(rejection.TagTwice, key)
			}
			instance = value
		default:
			if n := len(p.tags); n > 0 && p.tags[n-1].Key >= key {
				sorted = false
			}
			if len(p.tags) <= block.MaxTags {
				p.tags = append(p.tags, pointblock.Tag{Key: key, Value: value})
			}
		}
	}
	target := p.target(job, instance)
	sorted = p.addTarget(job, instance, target.name) && sorted
	p.checkLabels(l, sorted)
	l.Tags = p.batch.Labels.CopyTags(p.tags)
	l.Source = target.source
	return true
}

// readLabel parses the Label message b[i:].
func readLabel(b []byte, i int) (name, value string, ok bool) {
	for i < len(b) {
		tag := b[i]
		if tag != labelName && tag != labelValue {
			if i = protobuf.SkipField(b, i); i == scan.Failed {
				return "", "", false
			}
			continue
		}
		from, end := protobuf.BytesField(b, i+1)
		if end == scan.Failed {
			return "", "", false
		}
		if tag == labelName {
			name = scan.View(b[from:end])
		} else {
			value = scan.View(b[from:end])
		}
		i = end
	}
	return name, value, true
}

// checkLabels sorts p.tags and records in l the rule that is broken.
func (p *Parser) checkLabels(l *block.Label, sorted bool) {
	if !sorted {
		if key, ok := block.SortTags(p.tags); !ok {
			l.Refuse(rejection.TagTwice, key)
		}
	}
	if len(p.tags) > block.MaxTags {
		l.Refuse(rejection.TagsMany, "")
	}
	if !isASCII(l.Tokens.Tags) {
		refuseNotUTF8(l, p.tags)
	}
	if why := block.CheckMetric(l.Metric); why != rejection.None {
		l.Refuse(why, metricName)
	}
	if why, tag := block.CheckTags(p.tags); why != rejection.None {
		l.Refuse(why, tag)
	}
}

// refuseNotUTF8 refuses the label if one of its strings is not valid UTF-8.
func refuseNotUTF8(l *block.Label, tags []pointblock.Tag) {
	if !utf8.ValidString(l.Metric) {
		l.Refuse(rejection.MetricUTF8, metricName)
	}
	for i := range tags {
		if !utf8.ValidString(tags[i].Key) || !utf8.ValidString(tags[i].Value) {
			l.Refuse(rejection.TagUTF8, strings.ToValidUTF8(tags[i].Key, "\ufffd"))
		}
	}
}

// addTarget adds job and instance to the tags unless they can be read from the name of the source. It
// reports whether it added none. So two label sets never are one series, and the labels can be answered
// as they were written.
func (p *Parser) addTarget(job, instance, name string) bool {
	if parsedJob, parsedInstance := targetOf(name); parsedJob == job && parsedInstance == instance {
		return true
	}
	for _, tag := range []pointblock.Tag{{Key: jobLabel, Value: job}, {Key: instanceLabel, Value: instance}} {
		if tag.Value != "" {
			p.tags = append(p.tags, tag)
		}
	}
	return false
}

// sourceName returns the name of the source of a target: job/instance. If one of the two is empty, the
// other is the name. A job or an instance that no source can have in its name, such as one with a line
// break, is that of series with neither.
func sourceName(job, instance string) string {
	name := job + instance
	if job != "" && instance != "" {
		name = job + "/" + instance
	}
	if !block.CanNameSource(name) {
		return defaultSource
	}
	return name
}

// targetOf returns the job and the instance that the name of a source usually means: what precedes the
// first slash, and the rest. Tags have other ones.
func targetOf(name string) (job, instance string) {
	if name == defaultSource {
		return "", ""
	}
	if job, instance, _ = strings.Cut(name, "/"); job == "" {
		return name, ""
	}
	return job, instance
}

// targetTags returns the tags of a source that is created for a target.
func targetTags(name string) map[string]string {
	tags := map[string]string{}
	job, instance := targetOf(name)
	if job != "" {
		tags[jobLabel] = job
	}
	if instance != "" {
		tags[instanceLabel] = instance
	}
	return tags
}

// target returns the source of a target.
func (p *Parser) target(job, instance string) *lastSource {
	last := &p.names
	if !last.parsed || last.job != job || last.instance != instance {
		name := sourceName(job, instance)
		*last = lastSource{
			job: job, instance: instance, name: name, source: p.batch.Sources.InternName(name), parsed: true,
		}
	}
	return last
}

// cacheSeries adds the series of a label to the cache.
func (p *Parser) cacheSeries(l *block.Label, ref pointblock.SeriesRef, identity *pointblock.Identity) {
	p.cache.Add(p.batch, block.FormLabels, l, ref, identity)
}

// isASCII reports whether all bytes are ASCII.
func isASCII(b []byte) bool {
	const highBits = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&highBits != 0 {
			return false
		}
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
