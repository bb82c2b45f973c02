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
	uuidText      = 36
	maxEntityType = 64
	maxDimensions = 32_768 // Milvus's own bound

	// partitions is what Milvus spreads the workspaces over: a search looks at one
	// sixteenth of everybody's vectors. It cannot be changed later; 16 is the only
	// number that milvus-lite has, and keeps small installations in few segments.
	partitions = 16
	shards     = 1 // more are for more writers than one collection has here
)

// Of the index. COSINE, because what is stored are directions of meaning. HNSW needs no
// training and takes vectors as they come. 16 links a vector (M) and 200 candidates at
// building are the middle of what its authors give for high recall (Malkov and
// Yashunin, https://arxiv.org/abs/1603.09320, section 4): fewer links lose recall in
// hundreds of dimensions, more cost memory (128 bytes a vector here) and a slower build.
const (
	metricType     = entity.COSINE
	links          = 16
	efConstruction = 200
)

// newSchema reports how a collection is made.
func newSchema(name string, dimensions int) *entity.Schema {
	words := func(field string, most int64) *entity.Field {
		return entity.NewField().WithName(field).WithDataType(entity.FieldTypeVarChar).WithMaxLength(most)
	}
	return entity.NewSchema().WithName(name).
		WithField(words(fieldID, keyText).WithIsPrimaryKey(true)).
		WithField(words(fieldWorkspace, uuidText).WithIsPartitionKey(true)).
		WithField(words(fieldNode, uuidText)).
		WithField(words(fieldEntityType, maxEntityType)).
		WithField(entity.NewField().WithName(fieldChunk).WithDataType(entity.FieldTypeInt64)).
		WithField(
			entity.NewField().WithName(fieldVector).WithDataType(entity.FieldTypeFloatVector).WithDim(int64(dimensions)),
		)
}

// newIndex reports how its index is made.
func newIndex() (entity.Index, error) { return entity.NewIndexHNSW(metricType, links, efConstruction) }

// dimensionsOf reads a collection's dimensions; 0: it is none of ours.
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
