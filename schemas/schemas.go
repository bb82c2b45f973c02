// Package schemas carries what Livegraph publishes about its data: the OpenAPI
// document, the migrations of Postgres and ClickHouse, and (in its folders) the
// Kafka records. It owns the definitions and does nothing with them.
package schemas

import "embed"

// Postgres holds the goose migrations of Postgres, under "postgres".
//
//go:embed postgres/*.sql
var Postgres embed.FS

// ClickHouse holds the goose migrations of ClickHouse, under "clickhouse".
//
//go:embed clickhouse/*.sql
var ClickHouse embed.FS

// OpenAPI is the published contract, OpenAPI 3.0.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Admin describes what the administration page calls, OpenAPI 3.0. It refers to
// openapi.yaml beside it.
//
//go:embed admin.yaml
var Admin []byte
