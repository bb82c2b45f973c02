// Package lineprotocol reads points from the line protocol of InfluxDB.
//
// Nothing but an unknown precision is Malformed: a line that cannot be read is rejected as one
// point. A line's time that breaks a rule rejects all points of the line, a value only its own.
// More points than the limit are TooLarge. The measurement names the source; a name that no
// source can have is rejected.
package lineprotocol
