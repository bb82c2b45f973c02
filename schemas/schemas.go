// Package schemas contains Livegraph's published definitions: the OpenAPI documents, the migrations of
// Postgres and ClickHouse, and (in its folders) the Kafka records. It only embeds the definitions.
package schemas

import "embed"

// Postgres contains the goose migrations of Postgres in the directory postgres.
//
//go:embed postgres/*.sql
var Postgres embed.FS

// ClickHouse contains the goose migrations of ClickHouse in the directory clickhouse.
//
//go:embed clickhouse/*.sql
var ClickHouse embed.FS

// OpenAPI is the OpenAPI 3.0 document of the public API.
//
//go:embed openapi.yaml
var OpenAPI []byte

// Admin is the OpenAPI 3.0 document of the API that the admin UI uses. It refers to openapi.yaml in the
// same directory.
//
//go:embed admin.yaml
var Admin []byte
