"""A shorter way through milvus-lite's search, with the same answers.

For each search milvus-lite 3.2 looks at every row of a collection in Python, to find out
which is the newest of its key and which are deleted, reads each row that it found whole, its
vector too, and takes every vector that is not flushed out of its table one number at a time.
Here, for searches that ask for keys alone:

- which rows of the files stand is worked out once for a set of files, which never change;
- a search for one partition key looks at that key's partition;
- rows are not read: their keys are known;
- vectors that are not flushed are taken as they lie in memory;
- up to EXACT vectors that pass the filter are all compared with the query. An HNSW index could
  miss them: it walks from neighbor to neighbor, and few of the neighbors pass a narrow filter.

What is asked for otherwise, and a milvus-lite of another version, goes its own way.
"""

import hashlib
import re
import sys
import weakref

import numpy as np
import pyarrow as pa

VERSION = "3.2.2"  # the one whose inside this is written for
EXACT = 16_384  # vectors of a file; to compare them takes about as long as the rest of a search


def install():
    """Has milvus-lite search by this module. Whether it does."""
    from importlib.metadata import version

    if version("milvus-lite") != VERSION:
        print(f"searches go the longer way: milvus-lite is not {VERSION}", file=sys.stderr)
        return False
    from milvus_lite.engine import collection

    collection.execute_search_with_index = Nearest(collection.execute_search_with_index)
    collection.Collection.search = of_one_partition(
        collection.Collection.search, collection.PARTITION_KEY_BUCKET_PREFIX
    )
    return True


def of_one_partition(search, prefix):
    """A Collection.search that looks at one partition where the expression begins with a
    partition key that the rest cannot take back: all that is joined to it is so by &&."""

    def narrowed(self, query_vectors, top_k=10, metric_type=None, partition_names=None, expr=None, **rest):
        field = self._partition_key_field
        if field and expr and partition_names is None and "||" not in expr and not re.search(r"\b(or|not)\b|!", expr):
            found = re.match(re.escape(field) + r' == "([0-9a-f-]+)"(?: && |$)', expr)
            if found:
                # As Collection._insert_with_partition_key chooses it.
                bucket = int(hashlib.md5(found[1].encode()).hexdigest(), 16) % self._num_partition_buckets
                partition_names = [f"{prefix}{bucket}"]
        return search(self, query_vectors, top_k, metric_type, partition_names, expr, **rest)

    return narrowed


class Standing:
    """Which rows of a set of files are the newest of their keys, and not deleted by
    deletions that are flushed."""

    def __init__(self, segments, deletes):
        self.segments, self.deletes = segments, deletes
        self.lengths = [None] * len(segments)  # of the vectors, computed when they are needed
        # With one key twice in a file, its rows cannot be told by key.
        self.told_by_key = all(len(s.pk_to_row) == s.num_rows for s in segments)
        newest = {}
        for segment in segments:
            for pk, seq in zip(segment.pks, segment.seqs.tolist()):
                if seq > newest.get(pk, -1):
                    newest[pk] = seq
        self.masks = [
            np.fromiter(
                (newest[pk] == seq and deletes.get(pk, -1) <= seq for pk, seq in zip(s.pks, s.seqs.tolist())),
                dtype=bool,
                count=s.num_rows,
            )
            for s in segments
        ]

    def holds_for(self, segments, deletes):
        return (
            len(segments) == len(self.segments)
            and all(a is b for a, b in zip(segments, self.segments))
            and deletes == self.deletes
        )

    def compare(self, n, vector_field, queries, mask, top_k):
        """The nearest of the vectors of a file for which the mask is true, by cosine: their rows and
        distances, by query."""
        vectors, _ = self.segments[n].vector_data(vector_field)
        if self.lengths[n] is None:
            self.lengths[n] = np.maximum(np.linalg.norm(vectors, axis=1), np.finfo(np.float32).tiny)
        rows = np.flatnonzero(mask)
        unit = queries / np.maximum(np.linalg.norm(queries, axis=1, keepdims=True), np.finfo(np.float32).tiny)
        products = (unit @ vectors.T)[:, rows] if 2 * len(rows) > len(mask) else unit @ vectors[rows].T
        distances = 1 - products / self.lengths[n][rows]
        for of_query in distances:
            near = np.argsort(of_query) if top_k >= len(rows) else np.argpartition(of_query, top_k)[:top_k]
            yield rows[near], of_query[near]


class Fresh:
    """The rows of a memtable, in some partitions or all, and what is deleted there."""

    def __init__(self, memtable, vector_field, partitions):
        with memtable._lock:
            places = list(memtable._pk_index.items())
            batches = list(memtable._insert_batches)
            self.deletes = {pk: entry[0] for pk, entry in memtable._delete_index.items()}
        if partitions is not None:
            # A batch is of one partition.
            inside = [b.num_rows > 0 and b.column("_partition")[0].as_py() in partitions for b in batches]
            places = [place for place in places if inside[place[1][0]]]
        self.batches, self.places, self.vector_field = batches, places, vector_field
        self.seqs = {pk: place[2] for pk, place in places}

    def rows(self, choose):
        """The keys and vectors of the rows that are chosen by key and number, and a
        function that gives their table without the vectors."""
        chosen = [(pk, b, r) for pk, (b, r, seq) in self.places if choose(pk, seq)]
        of_batch = {}
        for _, b, _ in chosen:
            if b not in of_batch:
                of_batch[b] = vectors_of(self.batches[b].column(self.vector_field))
        vectors = np.array([of_batch[b][r] for _, b, r in chosen], dtype=np.float32)

        def table():
            parts, begin, total = [], {}, 0
            for b in of_batch:
                begin[b], total = total, total + self.batches[b].num_rows
                parts.append(self.batches[b])
            whole = pa.Table.from_batches(parts).drop_columns([self.vector_field])
            return whole.take(pa.array([begin[b] + r for _, b, r in chosen], type=pa.int64()))

        return [pk for pk, _, _ in chosen], vectors, table


def vectors_of(column):
    """The vectors of a column of lists of equal length, as rows."""
    return column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)


class Nearest:
    """Stands for milvus_lite.search.executor_indexed.execute_search_with_index."""

    def __init__(self, longer):
        self.longer = longer
        self.standing = weakref.WeakKeyDictionary()  # by memtable: one a collection and flush

    def __call__(
        self, query_vectors, segments, memtable, delta_index, top_k, metric_type, pk_field, vector_field, **more
    ):
        output = more.get("output_fields")
        segments = tuple(segments)
        standing = None
        if output is not None and set(output) <= {pk_field} and top_k > 0:
            standing = self.of(memtable, tuple(s for s in segments if s.num_rows > 0), delta_index._map)
        if standing is None or not standing.told_by_key or nullable(memtable, vector_field):
            return self.longer(
                query_vectors, segments, memtable, delta_index, top_k, metric_type, pk_field, vector_field, **more
            )
        return search(
            standing,
            np.atleast_2d(query_vectors),
            memtable,
            delta_index._map,
            top_k,
            metric_type,
            pk_field,
            vector_field,
            **more,
        )

    def of(self, memtable, segments, deletes):
        known = self.standing.get(memtable)
        if known is None or not known.holds_for(segments, deletes):
            known = self.standing[memtable] = Standing(segments, deletes)
        return known


def nullable(memtable, vector_field):
    return any(f.name == vector_field and f.nullable for f in memtable._schema.fields)


def search(
    standing,
    queries,
    memtable,
    deletes,
    top_k,
    metric_type,
    pk_field,
    vector_field,
    partition_names=None,
    compiled_filter=None,
    indexed_filter_plan=None,
    project_record_fn=None,
    search_params=None,
    **_,
):
    from milvus_lite.index.brute_force import BruteForceIndex
    from milvus_lite.search.filter import evaluate_mask
    from milvus_lite.search.indexed_filter import evaluate_segment_filter

    partitions = set(partition_names) if partition_names else None
    fresh = Fresh(memtable, vector_field, partitions)
    found = [[] for _ in range(len(queries))]  # by query: distance, source, row

    def keep(source, results):
        for q, (rows, distances) in enumerate(results):
            for row, distance in zip(rows.tolist(), distances.tolist()):
                if row < 0:
                    break  # there are no more
                found[q].append((distance, source, row))

    def recall(source, index, mask):
        if mask.any():
            mask = None if mask.all() else mask
            keep(source, zip(*index.search(queries, top_k, valid_mask=mask, params=search_params)))

    keys, older = [], {}
    for n, (segment, mask) in enumerate(zip(standing.segments, standing.masks)):
        if partitions is not None and segment.partition not in partitions:
            continue
        mask, row_of, seqs = mask.copy(), segment.pk_to_row, segment.seqs
        for changed in (fresh.seqs, fresh.deletes):
            for pk, seq in changed.items():
                row = row_of.get(pk)
                if row is None:
                    continue
                if seq > seqs[row]:
                    mask[row] = False
                elif changed is fresh.seqs:
                    older[pk] = True
        if compiled_filter is not None:
            mask &= evaluate_segment_filter(segment, compiled_filter, indexed_filter_plan)
        vectors, filled = segment.vector_data(vector_field)
        if filled is not None:
            mask &= filled
        if metric_type == "COSINE" and mask.sum() <= EXACT:
            keep(len(keys), standing.compare(n, vector_field, queries, mask, top_k))
        else:
            recall(len(keys), segment.indexes.get(vector_field) or BruteForceIndex.build(vectors, metric_type), mask)
        keys.append(segment.pks)

    pks, vectors, table = fresh.rows(
        lambda pk, seq: pk not in older and deletes.get(pk, -1) <= seq and fresh.deletes.get(pk, -1) <= seq
    )
    if pks:
        mask = np.ones(len(pks), dtype=bool)
        if compiled_filter is not None:
            mask &= evaluate_mask(compiled_filter, table())
        recall(len(keys), BruteForceIndex.build(vectors, metric_type), mask)
        keys.append(pks)

    def hit(distance, source, row):
        pk = keys[source][row]
        return {
            "id": pk,
            "distance": distance,
            "entity": project_record_fn({pk_field: pk}) if project_record_fn else {},
        }

    return [[hit(*candidate) for candidate in sorted(candidates)[:top_k]] for candidates in found]
