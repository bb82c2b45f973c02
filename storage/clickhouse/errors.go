package clickhouse

import (
	"errors"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// dataErrors are ClickHouse's codes for rows that it will never take, whatever is
// tried again: https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp.
// The list is short on purpose. What may come from a schema that is not there yet,
// a request cut short or a server in trouble is not on it, because a record that
// is wrongly taken for bad is lost to the reader until somebody redrives it.
var dataErrors = map[int32]bool{
	69:  true, // ARGUMENT_OUT_OF_BOUND
	131: true, // TOO_LARGE_STRING_SIZE
	321: true, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
	407: true, // DECIMAL_OVERFLOW
	469: true, // VIOLATED_CONSTRAINT
}

// Permanent reports whether an insert failed because of what is in the rows, so
// that trying the same rows again is of no use. Anything else may pass by itself.
func Permanent(err error) bool {
	var exception *ch.Exception
	return errors.As(err, &exception) && dataErrors[exception.Code]
}

func isException(err error, code int32) bool {
	var exception *ch.Exception
	return errors.As(err, &exception) && exception.Code == code
}
