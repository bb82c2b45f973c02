package ingest

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Labels of Prometheus that are no tags.
const (
	promMetric   = "__name__"
	promJob      = "job"
	promInstance = "instance"
)

// promSource names the source of series that have neither job nor instance, as
// those of recording rules and alerts often do.
const promSource = "prometheus"

// promNames is what the last labels say of their source: series of one target
// come one after the other.
type promNames struct {
	name   string // of the source
	source int32
	known  bool

	job, instance string
	read          bool // job and instance are given
}

// promLabel returns the index of the label with these labels of Prometheus: Label
// messages, each with the tag and the length that it has in its TimeSeries. Not
// ok are bytes that are no such messages.
func (p *promParser) promLabel(raw []byte) (at int32, ok bool) {
	b := p.batch
	l := label{tokens: tokens{tags: raw}, hash: p.cache.hash(raw)}
	if at = b.labels.findHashed(&l.tokens, l.hash); at >= 0 {
		return at, true
	}
	if known := p.cache.get(l.hash, b.workspace, raw); known != nil {
		p.hits++
		l.known, l.source = &known.knownSeries, p.namedSource(known.name)
	} else {
		p.misses++
		if !p.readPromLabels(&l) {
			return 0, false
		}
	}
	return b.labels.insert(l), true
}

// namedSource returns the index of the source with the name.
func (p *promParser) namedSource(name string) int32 {
	if last := &p.names; !last.known || last.name != name {
		source := p.batch.sources.internName(name, func() string { return name })
		*last = promNames{name: name, source: source, known: true}
	}
	return p.names.source
}

// readPromLabels reads a label's bytes into what they mean, and says in it whether
// they break a rule. Labels with an empty value are as good as absent, as
// Prometheus has it.
func (p *promParser) readPromLabels(l *label) bool {
	raw := l.tokens.tags
	var job, instance string
	p.tags = p.tags[:0]
	sorted, named := true, false
	for i := 0; i < len(raw); {
		from, end := bytesField(raw, i+1)
		key, value, ok := readPromLabel(raw[:end], from)
		if !ok {
			return false
		}
		i = end
		if value == "" {
			continue
		}
		switch key {
		case promMetric:
			if named {
				l.refuse(tagTwice, key)
			}
			l.metric, named = value, true
		case promJob:
			if job != "" {
				l.refuse(tagTwice, key)
			}
			job = value
		case promInstance:
			if instance != "" {
				l.refuse(tagTwice, key)
			}
			instance = value
		default:
			if n := len(p.tags); n > 0 && p.tags[n-1].Key >= key {
				sorted = false
			}
			if len(p.tags) <= maxTags {
				p.tags = append(p.tags, pointblock.Tag{Key: key, Value: value})
			}
		}
	}
	p.checkPromLabels(l, sorted)
	l.tags = p.batch.labels.keep(p.tags)
	l.source = p.promSource(job, instance)
	return true
}

// readPromLabel reads the Label that begins at b[i] and ends with b.
func readPromLabel(b []byte, i int) (name, value string, ok bool) {
	for i < len(b) {
		tag := b[i]
		if tag != labelName && tag != labelValue {
			if i = skipField(b, i); i == failed {
				return "", "", false
			}
			continue
		}
		from, end := bytesField(b, i+1)
		if end == failed {
			return "", "", false
		}
		if tag == labelName {
			name = view(b[from:end])
		} else {
			value = view(b[from:end])
		}
		i = end
	}
	return name, value, true
}

// checkPromLabels sorts p.tags and says in the label what rule is broken.
func (p *promParser) checkPromLabels(l *label, sorted bool) {
	if !sorted {
		if key, ok := sortTags(p.tags); !ok {
			l.refuse(tagTwice, key)
		}
	}
	if len(p.tags) > maxTags {
		l.refuse(tagsMany, "")
	}
	if !isASCII(l.tokens.tags) {
		l.refuseNotUTF8(p.tags)
	}
	if why := checkMetric(l.metric); why != accepted {
		l.refuse(why, promMetric)
	}
	if why, culprit := checkTags(p.tags); why != accepted {
		l.refuse(why, culprit)
	}
}

// refuseNotUTF8 refuses the label if one of its texts is not valid UTF-8.
func (l *label) refuseNotUTF8(tags []pointblock.Tag) {
	if !utf8.ValidString(l.metric) {
		l.refuse(metricUTF8, promMetric)
	}
	for i := range tags {
		if !utf8.ValidString(tags[i].Key) || !utf8.ValidString(tags[i].Value) {
			l.refuse(tagUTF8, strings.ToValidUTF8(tags[i].Key, "\ufffd"))
		}
	}
}

// promSource returns the index of the source job/instance; of one of the two if
// the other is missing.
func (p *promParser) promSource(job, instance string) int32 {
	last := &p.names
	if last.read && last.job == job && last.instance == instance {
		return last.source
	}
	b := p.batch
	name := promSource
	switch {
	case job != "" && instance != "":
		from := len(b.unescaped)
		b.unescaped = append(append(append(b.unescaped, job...), '/'), instance...)
		name = view(b.unescaped[from:])
	case job != "":
		name = job
	case instance != "":
		name = instance
	}
	source := p.namedSource(name)
	last.job, last.instance, last.read = job, instance, true
	return source
}

// remember keeps what a label came to for the requests that follow.
func (p *promParser) remember(l *label, ref pointblock.SeriesRef, identity *pointblock.Identity) {
	if len(l.tokens.tags) > maxPromLabels || !p.cache.takes(l.hash) {
		return
	}
	source := &p.batch.sources.list[l.source]
	p.cache.put(l.hash, &promSeries{
		workspace: p.batch.workspace, raw: string(l.tokens.tags), name: strings.Clone(source.name),
		knownSeries: knownSeries{
			source: source.id, ref: ref, encoded: pointblock.AppendSeries(nil, ref, identity),
		},
	})
}

// isASCII reports whether all bytes are, and with them all texts among them.
func isASCII(b []byte) bool {
	const tops = 0x8080808080808080
	for ; len(b) >= 8; b = b[8:] {
		if binary.LittleEndian.Uint64(b)&tops != 0 {
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
