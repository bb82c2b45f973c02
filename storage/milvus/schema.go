package milvus

import (
	"strconv"

	"github.com/milvus-io/milvus-sdk-go/v2/entity"
)

// Fields of a collection.
const (
	fieldID         = "id"
	fieldWorkspace  = "workspace_id"
	fieldNode       = "node_id"
	fieldEntityType = "entity_type"
	fieldChunk      = "chunk"
	fieldVector     = "vector"
)

const (
	uuidLength    = 36
	maxEntityType = 64
	maxDimensions = 32_768 // limit of Milvus

	// partitions is the number of partitions that workspaces are distributed to: a search reads
	// one sixteenth of all vectors. It cannot be changed later. 16 is the only number that
	// milvus-lite supports, and it results in few segments for small installations.
	partitions = 16
	shards     = 1 // more shards are for more writers than a collection has
)

// Index parameters. The metric is COSINE, because only the direction of an embedding is significant.
// HNSW needs no training and supports incremental inserts. 16 links per vector (M) and 200 candidates
// at construction are in the middle of the range that its authors recommend for high recall (Malkov
// and Yashunin, https://arxiv.org/abs/1603.09320, section 4): fewer links reduce the recall with
// hundreds of dimensions, more use more memory (128 bytes per vector here) and slow down the build.
const (
	metricType     = entity.COSINE
	links          = 16
	efConstruction = 200
)

// newSchema returns the schema of a collection.
func newSchema(name string, dimensions int) *entity.Schema {
	varchar := func(field string, maxLength int64) *entity.Field {
		return entity.NewField().WithName(field).WithDataType(entity.FieldTypeVarChar).WithMaxLength(maxLength)
	}
	return entity.NewSchema().WithName(name).
		WithField(varchar(fieldID, keyLength).WithIsPrimaryKey(true)).
		WithField(varchar(fieldWorkspace, uuidLength).WithIsPartitionKey(true)).
		WithField(varchar(fieldNode, uuidLength)).
		WithField(varchar(fieldEntityType, maxEntityType)).
		WithField(entity.NewField().WithName(fieldChunk).WithDataType(entity.FieldTypeInt64)).
		WithField(
			entity.NewField().WithName(fieldVector).WithDataType(entity.FieldTypeFloatVector).WithDim(int64(dimensions)),
		)
}

// newIndex returns the parameters of the index.
func newIndex() (entity.Index, error) { return entity.NewIndexHNSW(metricType, links, efConstruction) }

// dimensionsOf returns a collection's dimensions, or 0 if it does not have Livegraph's schema.
func dimensionsOf(schema *entity.Schema) int {
	fields := map[string]*entity.Field{}
	for _, f := range schema.Fields {
		fields[f.Name] = f
	}
	for _, name := range []string{fieldID, fieldWorkspace, fieldNode, fieldEntityType, fieldChunk, fieldVector} {
		if fields[name] == nil {
			return 0
		}
	}
	n, _ := strconv.Atoi(fields[fieldVector].TypeParams[entity.TypeParamDim])
	return n
}
