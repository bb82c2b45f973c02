"""HNSW indexes of milvus-lite that find every vector, though many others are equal to each other.

Each vector of an HNSW index has links to a few of the nearest vectors. Equal vectors, such as those of
nodes with the same name, have links only to each other. Searches that begin at one of them never leave
them, and do not find the others. Here an index has one of the vectors that are equal, or almost, and
its results are all of them.
"""

import numpy as np

STEPS = 4096  # of a coordinate of a vector of length 1. Vectors that are equal in all steps count as equal.


def install():
    """Replaces the HNSW index of milvus-lite."""
    from milvus_lite.index import faiss_hnsw
    from milvus_lite.storage.segment import Segment

    faiss_hnsw.FaissHnswIndex = index_of_distinct(faiss_hnsw.FaissHnswIndex)
    Segment.attach_index = attached(Segment.attach_index)


class Groups:
    """The groups of equal vectors among the rows of a file."""

    def __init__(self, vectors):
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        numbers = {}  # of the groups, by the steps of their vectors
        steps = np.rint(vectors / lengths * STEPS).astype(np.int16)
        self.of_row = np.fromiter(
            (numbers.setdefault(row.tobytes(), len(numbers)) for row in steps), np.int64, len(steps)
        )
        self.count = len(numbers)
        self.rows = np.argsort(self.of_row, kind="stable")  # by group
        self.starts = np.searchsorted(self.of_row[self.rows], np.arange(self.count + 1))

    def first_rows(self):
        return self.rows[self.starts[:-1]]

    def rows_of(self, group):
        return self.rows[self.starts[group] : self.starts[group + 1]]


def index_of_distinct(base):
    class DistinctHnswIndex(base):
        """An HNSW index of one vector of each group of equal ones."""

        __slots__ = ("groups",)

        @classmethod
        def build(cls, vectors, metric, params=None):
            groups = Groups(vectors)
            index = super().build(vectors[groups.first_rows()], metric, params)
            index.groups = groups
            return index

        def search(self, queries, top_k, valid_mask=None, params=None):
            groups = self.groups
            if groups.count == len(groups.of_row):
                return super().search(queries, top_k, valid_mask, params)
            valid_groups = None
            if valid_mask is not None:
                valid_groups = np.bincount(groups.of_row[valid_mask], minlength=groups.count) > 0
            found, distances = super().search(queries, top_k, valid_groups, params)
            rows = np.full((len(found), top_k), -1, dtype=np.int64)
            expanded = np.full((len(found), top_k), np.inf, dtype=np.float32)
            for q in range(len(found)):
                end = 0
                for group, distance in zip(found[q].tolist(), distances[q].tolist()):
                    if group < 0 or end == top_k:
                        break
                    members = groups.rows_of(group)
                    if valid_mask is not None:
                        members = members[valid_mask[members]]
                    begin, end = end, min(end + len(members), top_k)
                    rows[q, begin:end], expanded[q, begin:end] = members[: end - begin], distance
            return rows, expanded

    return DistinctHnswIndex


def attached(attach):
    """Returns a Segment.attach_index that finds the groups of an index that was read from a file. It fails for an
    index of all vectors, which is then built anew."""

    def attaching(self, index, field_name=None):
        if isinstance(index, index_class()) and not hasattr(index, "groups"):
            vectors, _ = self.vector_data(field_name)
            groups = Groups(vectors)
            if groups.count != index.num_vectors:
                raise ValueError(f"the index has {index.num_vectors} vectors instead of {groups.count}")
            index.groups = groups
        return attach(self, index, field_name=field_name)

    return attaching


def index_class():
    from milvus_lite.index import faiss_hnsw

    return faiss_hnsw.FaissHnswIndex
