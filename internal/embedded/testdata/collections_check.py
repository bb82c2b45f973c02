"""Makes and opens collections of milvus-lite by several threads at once, and makes one where
the rest of another is. The first argument is a new folder; a second one leaves out
writes.py."""

import os
import sys
import threading

from milvus_lite import db as lite
from milvus_lite.exceptions import CollectionAlreadyExistsError
from milvus_lite.schema.types import CollectionSchema, DataType, FieldSchema

THREADS, COLLECTIONS = 6, 40


def schema():
    return CollectionSchema(
        fields=[
            FieldSchema("id", DataType.VARCHAR, is_primary=True, max_length=64),
            FieldSchema("vector", DataType.FLOAT_VECTOR, dim=4),
        ]
    )


def together(do):
    """What THREADS calls of do give, as results or exceptions, that begin at once."""
    ready, given = threading.Barrier(THREADS), []

    def run():
        ready.wait()
        try:
            given.append(do())
        except Exception as e:
            given.append(e)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return given


def main():
    folder = sys.argv[1]
    if len(sys.argv) == 2:
        import writes

        writes.install()
    base = lite.MilvusLite(folder)
    for n in range(COLLECTIONS):
        given = together(lambda name=f"c{n}": base.create_collection(name, schema()))
        refused = [g for g in given if isinstance(g, Exception)]
        assert len(refused) == THREADS - 1, f"{THREADS - len(refused)} have made one collection"
        assert all(isinstance(g, CollectionAlreadyExistsError) for g in refused), refused
    base.close()

    base = lite.MilvusLite(folder)
    for n in range(COLLECTIONS):
        given = together(lambda name=f"c{n}": base.get_collection(name))
        assert len({id(g) for g in given}) == 1, f"one collection is open {len({id(g) for g in given})} times: {given}"

    left = os.path.join(folder, "collections", "rest")
    os.makedirs(os.path.join(left, "partitions", "_default"))
    assert os.path.isdir(os.path.dirname(base.get_collection("c0")._data_dir)), "collections are elsewhere"
    made = base.create_collection("rest", schema())
    made.insert([{"id": "a", "vector": [1.0, 0.0, 0.0, 0.0]}])
    assert os.path.dirname(made._data_dir) == os.path.dirname(left)
    base.drop_collection("rest")
    assert not base.has_collection("rest")

    outside = os.path.join(folder, "outside")
    os.makedirs(outside)
    try:
        base.create_collection("../outside", schema())
        raise AssertionError("a path is taken for a name")
    except ValueError:
        pass
    assert os.path.isdir(outside), "what is no collection is removed"
    print("collections are made and opened once, and where the rest of one is")
    sys.stdout.flush()
    os._exit(0)


main()
