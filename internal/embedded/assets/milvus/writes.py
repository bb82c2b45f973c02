"""Writes of milvus-lite that outlive whatever happens: one to a collection at a time, as
with collections themselves, and files of indexes whole or not at all.

milvus-lite 3.2 locks nothing of what writes to a collection against each other: neither
calls of several clients, nor one whose client has gone and that client's next. They number
their rows alike, mix their batches in the log, of which nothing behind the first broken one
is read after a crash, and put in one table what stands in the log of another, which a
flush then removes. What was acknowledged is lost by that, at the next crash or at once.

Nor does it lock what makes, opens, and removes collections: of two that make one the second
fails halfway, two that open one get one each, whose rows the other does not know, and a
process that dies while it makes or removes one leaves a folder that stands in the way of
that name for ever.

It also writes the file of an index in place. A process that dies meanwhile leaves a part of
it, and no later one could load the collection, though an index can be made anew of its rows.
"""

import functools
import os
import shutil
import sys
import threading

WRITERS = ("insert", "upsert", "delete", "flush", "close")
MAKERS = (
    "create_collection",
    "get_collection",
    "drop_collection",
    "rename_collection",
    "truncate_collection",
    "create_alias",
    "alter_alias",
    "drop_alias",
)


def install():
    """Has milvus-lite write so."""
    from milvus_lite.db import MilvusLite
    from milvus_lite.engine.collection import Collection
    from milvus_lite.index.faiss_hnsw import FaissHnswIndex
    from milvus_lite.storage.segment import Segment

    for name in WRITERS:
        setattr(Collection, name, alone(getattr(Collection, name)))
    MilvusLite.create_collection = cleared(MilvusLite.create_collection)
    for name in MAKERS:
        setattr(MilvusLite, name, alone(getattr(MilvusLite, name)))
    FaissHnswIndex.save = whole(FaissHnswIndex.save)
    Segment.build_or_load_index = mended(Segment.build_or_load_index)


def alone(write):
    @functools.wraps(write)
    def waiting(self, *args, **more):
        # setdefault gives all of them the same lock.
        with self.__dict__.setdefault("_one_writer", threading.RLock()):
            return write(self, *args, **more)

    return waiting


def cleared(create):
    """A MilvusLite.create_collection that removes what is left of a collection that was never
    made, or not wholly removed: one without a schema, which is written first."""

    @functools.wraps(create)
    def making(self, name, schema, *args, **more):
        self._validate_name(name)  # before it becomes a path
        database = args[1] if len(args) > 1 else more.get("database_name", "default")
        left = self._collection_dir(name, self._require_database(database))
        if os.path.isdir(left) and not self.has_collection(name, database_name=database):
            print(f"{left} is removed: it is the rest of a collection", file=sys.stderr)
            shutil.rmtree(left)
        return create(self, name, schema, *args, **more)

    return making


def whole(save):
    @functools.wraps(save)
    def saving(self, path):
        part = f"{path}.{threading.get_ident()}.part"
        save(self, part)
        os.replace(part, path)

    return saving


def mended(build_or_load):
    """A Segment.build_or_load_index that builds what cannot be loaded."""

    @functools.wraps(build_or_load)
    def trying(self, spec, index_dir):
        try:
            return build_or_load(self, spec, index_dir)
        except Exception as e:
            path = self.index_file_path(index_dir, spec.index_type, spec.field_name)
            if not os.path.exists(path):
                raise
            print(f"the index {path} is made anew: it cannot be read: {e}", file=sys.stderr)
            os.remove(path)
            return build_or_load(self, spec, index_dir)

    return trying
