package jsonpoints

// field is a name that an object of a request can have.
type field uint8

const (
	unknownField field = iota
	fieldSourceID
	fieldSource
	fieldMetric
	fieldTags
	fieldTimestamp
	fieldValue
	fieldTimestamps
	fieldValues
	fieldPrecision
	fieldPoints
	fieldSeries
)

// fields is a set of them.
type fields uint16

func (f field) bit() fields       { return 1 << f }
func (s fields) has(f field) bool { return s&f.bit() != 0 }

var fieldNames = [...]string{
	fieldSourceID: "sourceId", fieldSource: "source", fieldMetric: "metric", fieldTags: "tags",
	fieldTimestamp: "timestamp",
	fieldValue:     "value", fieldTimestamps: "timestamps", fieldValues: "values", fieldPrecision: "precision",
	fieldPoints: "points", fieldSeries: "series",
}

// The fields of each kind of object.
const (
	identityFields = 1<<fieldSourceID | 1<<fieldSource | 1<<fieldMetric | 1<<fieldTags
	rowFields      = identityFields | 1<<fieldTimestamp | 1<<fieldValue
	seriesFields   = identityFields | 1<<fieldTimestamps | 1<<fieldValues
	requestFields  = identityFields | 1<<fieldPrecision | 1<<fieldPoints | 1<<fieldSeries
)

// names lists a set, for a caller who misspelt one.
func (s fields) names() (names []string) {
	for f, name := range fieldNames {
		if s.has(field(f)) {
			names = append(names, name)
		}
	}
	return names
}

// lookup returns the field of a name.
func lookup(name string) field {
	for f := fieldSourceID; int(f) < len(fieldNames); f++ {
		if fieldNames[f] == name {
			return f
		}
	}
	return unknownField
}

// readName reads the field's name that begins with the quote at b[i], if it is
// written in the usual way, and returns where it ends.
func readName(b []byte, i int) (field, int) {
	rest := b[i:]
	if len(rest) < len(`"timestamps"`) {
		return unknownField, i // too near the end to be worth it
	}
	switch rest[1] {
	case 't':
		switch {
		case string(rest[:6]) == `"tags"`:
			return fieldTags, i + 6
		case string(rest[:11]) == `"timestamp"`:
			return fieldTimestamp, i + 11
		case string(rest[:12]) == `"timestamps"`:
			return fieldTimestamps, i + 12
		}
	case 'v':
		switch {
		case string(rest[:7]) == `"value"`:
			return fieldValue, i + 7
		case string(rest[:8]) == `"values"`:
			return fieldValues, i + 8
		}
	case 'm':
		if string(rest[:8]) == `"metric"` {
			return fieldMetric, i + 8
		}
	case 's':
		switch {
		case string(rest[:10]) == `"sourceId"`:
			return fieldSourceID, i + 10
		case string(rest[:8]) == `"source"`:
			return fieldSource, i + 8
		}
	}
	return unknownField, i
}
