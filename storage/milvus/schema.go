package milvus

import (
	"strconv"

	"github.com/milvus-io/milvus-proto/go-api/v2/commonpb"
	"github.com/milvus-io/milvus-proto/go-api/v2/milvuspb"
	"github.com/milvus-io/milvus-proto/go-api/v2/schemapb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/protoadapt"
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
	indexType   = "HNSW"
	metricType  = "COSINE"
	indexParams = `{"M":16,"efConstruction":200}`
)

// newCollection is the request that makes a collection.
func newCollection(name string, dimensions int) (*milvuspb.CreateCollectionRequest, error) {
	schema, err := marshal(&schemapb.CollectionSchema{Name: name, Fields: []*schemapb.FieldSchema{
		{Name: fieldID, IsPrimaryKey: true, DataType: schemapb.DataType_VarChar, TypeParams: length(keyText)},
		{Name: fieldWorkspace, IsPartitionKey: true, DataType: schemapb.DataType_VarChar, TypeParams: length(uuidText)},
		{Name: fieldNode, DataType: schemapb.DataType_VarChar, TypeParams: length(uuidText)},
		{Name: fieldEntityType, DataType: schemapb.DataType_VarChar, TypeParams: length(maxEntityType)},
		{Name: fieldChunk, DataType: schemapb.DataType_Int64},
		{Name: fieldVector, DataType: schemapb.DataType_FloatVector, TypeParams: pairs("dim", strconv.Itoa(dimensions))},
	}})
	if err != nil {
		return nil, err
	}
	return &milvuspb.CreateCollectionRequest{
		CollectionName: name, Schema: schema, ShardsNum: shards, NumPartitions: partitions,
		ConsistencyLevel: commonpb.ConsistencyLevel_Bounded,
	}, nil
}

// newIndex is the request that makes its index.
func newIndex(name string) *milvuspb.CreateIndexRequest {
	return &milvuspb.CreateIndexRequest{
		CollectionName: name, FieldName: fieldVector,
		ExtraParams: pairs("index_type", indexType, "metric_type", metricType, "params", indexParams),
	}
}

// dimensionsOf reads a collection's dimensions; 0: it is none of ours.
func dimensionsOf(schema *schemapb.CollectionSchema) int {
	fields := map[string]*schemapb.FieldSchema{}
	for _, f := range schema.GetFields() {
		fields[f.GetName()] = f
	}
	for _, name := range []string{fieldID, fieldWorkspace, fieldNode, fieldEntityType, fieldChunk, fieldVector} {
		if fields[name] == nil {
			return 0
		}
	}
	for _, p := range fields[fieldVector].GetTypeParams() {
		if p.GetKey() == "dim" {
			n, _ := strconv.Atoi(p.GetValue())
			return n
		}
	}
	return 0
}

func length(n int) []*commonpb.KeyValuePair { return pairs("max_length", strconv.Itoa(n)) }

// pairs makes key-value pairs of keys and values in turn.
func pairs(of ...string) []*commonpb.KeyValuePair {
	all := make([]*commonpb.KeyValuePair, 0, len(of)/2)
	for i := 0; i+1 < len(of); i += 2 {
		all = append(all, &commonpb.KeyValuePair{Key: of[i], Value: of[i+1]})
	}
	return all
}

// marshal encodes a message of Milvus, which are of protobuf's first Go API.
func marshal(m protoadapt.MessageV1) ([]byte, error) {
	return proto.Marshal(protoadapt.MessageV2Of(m))
}
