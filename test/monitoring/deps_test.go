package monitoring_test

import (
	_ "github.com/prometheus/common/expfmt"
)
