package clickhouse_test

import "github.com/livegraph/livegraph/test/chtest"

const (
	t0     = chtest.T0
	second = 1_000_000
)

type (
	store = chtest.Store
	point = chtest.Point
)
