"""Searches a collection of milvus-lite most of whose vectors are equal. Each search must find the
nearest of the others, too. The first argument is a new folder; with a second one, duplicates.py is not
used."""

import sys

import collection
import nearest
import numpy as np
import writes
from milvus_lite import db as lite

EQUAL, OTHERS, DIMENSIONS = 2000, 60, 64
WORKSPACE = "10000000-0000-0000-0000-000000000000"


def main():
    folder = sys.argv[1]
    nearest.install()
    writes.install()
    numbers = np.random.default_rng(1)
    vectors = numbers.standard_normal((OTHERS + 1, DIMENSIONS)).astype(np.float32)
    vectors = np.concatenate([np.repeat(vectors[:1], EQUAL, axis=0), vectors[1:]])
    vectors += numbers.uniform(-1e-7, 1e-7, vectors.shape).astype(np.float32)  # as by another batch of a model
    order = numbers.permutation(len(vectors))
    base = lite.MilvusLite(folder)
    rows = collection.create(base, DIMENSIONS, collection.kind(), indexed=True)
    for part in np.array_split(order, 4):
        rows.upsert(
            [
                {
                    "id": str(n),
                    "workspace_id": WORKSPACE,
                    "kind": "equal" if n < EQUAL else "other",
                    "vector": vectors[n].tolist(),
                }
                for n in part
            ]
        )
    rows.flush()
    rows._wait_for_bg()

    def require_all(rows):
        for exact in (nearest.EXACT, 0):  # by comparison, and by the index
            nearest.EXACT, before = exact, nearest.EXACT
            require_found(rows, vectors)
            nearest.EXACT = before

    if len(sys.argv) > 2:
        require_all(rows)
        return
    base.close()
    import duplicates

    duplicates.install()
    for _ in range(2):  # the index of all vectors is built again, that of distinct ones is read
        base = lite.MilvusLite(folder)
        rows = base.get_collection("rows")
        rows.load()
        (segment,) = [s for s in rows._segments_snapshot() if s.num_rows > 0]
        assert segment.indexes["vector"].num_vectors == OTHERS + 1, segment.indexes["vector"].num_vectors
        require_all(rows)
        base.close()


def require_found(rows, vectors):
    of_workspace = f'workspace_id == "{WORKSPACE}"'
    asked = {"metric_type": "COSINE", "output_fields": ["id"], "search_params": {"ef": 512}}
    # The distances of equal vectors vary by the steps of duplicates.py.
    for n in range(EQUAL, EQUAL + OTHERS):
        (hits,) = rows.search([vectors[n].tolist()], top_k=3, expr=of_workspace, **asked)
        assert hits[0]["id"] == str(n) and hits[0]["distance"] > 0.999, (n, hits)
    query = vectors[0]
    (hits,) = rows.search([query.tolist()], top_k=100, expr=of_workspace + ' && kind == "other"', **asked)
    cosines = vectors @ query / np.linalg.norm(vectors, axis=1) / np.linalg.norm(query)
    want = sorted(range(EQUAL, EQUAL + OTHERS), key=lambda n: -cosines[n])
    assert [int(h["id"]) for h in hits] == want, (len(hits), hits[:3])
    for hit in hits:
        assert abs(hit["distance"] - cosines[int(hit["id"])]) < 1e-4, hit
    (hits,) = rows.search([query.tolist()], top_k=EQUAL + 10, expr=of_workspace, **asked)
    assert len({h["id"] for h in hits}) == EQUAL + 10, len(hits)
    assert all(int(h["id"]) < EQUAL and h["distance"] > 0.999 for h in hits[:EQUAL]), hits[EQUAL - 1]
    (hits,) = rows.search([query.tolist()], top_k=10, expr=of_workspace + ' && kind == "equal"', **asked)
    assert len(hits) == 10 and all(int(h["id"]) < EQUAL for h in hits), hits


if __name__ == "__main__":
    main()
