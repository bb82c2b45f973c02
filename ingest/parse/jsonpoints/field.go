package jsonpoints

// field is a field name in an object of a request.
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

// fields is a set of field names.
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

// names returns the names in a set, for error messages.
func (s fields) names() (names []string) {
	for f, name := range fieldNames {
		if s.has(field(f)) {
			names = append(names, name)
		}
	}
	return names
}

// fieldByName returns the field with the given name.
func fieldByName(name string) field {
	for f := fieldSourceID; int(f) < len(fieldNames); f++ {
		if fieldNames[f] == name {
			return f
		}
	}
	return unknownField
}

// readName parses the field name whose opening quote is at b[i], if it is a field of a row
// or series without escapes, and returns the index of its end.
func readName(b []byte, i int) (field, int) {
	name := b[i:]
	if len(name) < len(`"timestamps"`) {
		return unknownField, i // near the end of the body; readUncommonName parses it
	}
	switch name[1] {
	case 't':
		switch {
		case string(name[:6]) == `"tags"`:
			return fieldTags, i + 6
		case string(name[:11]) == `"timestamp"`:
			return fieldTimestamp, i + 11
		case string(name[:12]) == `"timestamps"`:
			return fieldTimestamps, i + 12
		}
	case 'v':
		switch {
		case string(name[:7]) == `"value"`:
			return fieldValue, i + 7
		case string(name[:8]) == `"values"`:
			return fieldValues, i + 8
		}
	case 'm':
		if string(name[:8]) == `"metric"` {
			return fieldMetric, i + 8
		}
	case 's':
		switch {
		case string(name[:10]) == `"sourceId"`:
			return fieldSourceID, i + 10
		case string(name[:8]) == `"source"`:
			return fieldSource, i + 8
		}
	}
	return unknownField, i
}
