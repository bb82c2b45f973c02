package clickhouse

import (
	"errors"

	ch "github.com/ClickHouse/clickhouse-go/v2"
)

// dataErrors are ClickHouse's codes for rows that it rejects on every retry:
// https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp.
// The list is short on purpose. It has no error that may be caused by a missing migration,
// an interrupted request or an unhealthy server, because a valid record that becomes a dead
// letter is not visible until it is redriven.
var dataErrors = map[int32]bool{
	69:  true, // ARGUMENT_OUT_OF_BOUND
	131: true, // TOO_LARGE_STRING_SIZE
	321: true, // VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
	407: true, // DECIMAL_OVERFLOW
	469: true, // VIOLATED_CONSTRAINT
}

// Permanent reports whether an insert failed because of the contents of the rows, so that a
// retry cannot succeed. Any other error may be temporary.
func Permanent(err error) bool {
	var exception *ch.Exception
	return errors.As(err, &exception) && dataErrors[exception.Code]
}

func isException(err error, code int32) bool {
	var exception *ch.Exception
	return errors.As(err, &exception) && exception.Code == code
}
