module github.com/livegraph/livegraph/sdk/go

go 1.26.0
