"""The collection of milvus-lite that the checks write to and read."""

from milvus_lite.schema.types import CollectionSchema, DataType, FieldSchema


def create(base, dimensions, *fields, partitioned=True, indexed=False):
    """Creates the collection in a database: a key, the workspace as the key of its partitions, further fields,
    and a vector; with an index, it is loaded."""
    key = FieldSchema("id", DataType.VARCHAR, is_primary=True, max_length=64)
    workspace = FieldSchema("workspace_id", DataType.VARCHAR, max_length=36, is_partition_key=True)
    vector = FieldSchema("vector", DataType.FLOAT_VECTOR, dim=dimensions)
    rows = base.create_collection(
        "rows", CollectionSchema(fields=[key, *([workspace] if partitioned else []), *fields, vector])
    )
    if indexed:
        rows.create_index(
            "vector", {"index_type": "HNSW", "metric_type": "COSINE", "params": {"M": 16, "efConstruction": 200}}
        )
        rows.load()
    return rows


def kind():
    """Returns a field for filters."""
    return FieldSchema("kind", DataType.VARCHAR, max_length=8)
