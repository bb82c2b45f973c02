// Package lineprotocol parses points in the line protocol of InfluxDB.
//
// Only an unknown precision is Malformed. A line that cannot be parsed is rejected as one point.
// An invalid timestamp rejects all points of its line, an invalid value only its own point. More
// points than the limit are TooLarge. The measurement is the name of the source. Points whose
// measurement is not a valid source name are rejected.
package lineprotocol
