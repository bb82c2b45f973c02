"""Compares searches by nearest.py with milvus-lite's own, on random rows that are written,
written over, deleted and flushed. The first argument is a new folder, the second a seed."""

import itertools
import random
import sys

import collection
import nearest
import numpy as np
from milvus_lite import db as lite
from milvus_lite.engine import collection as engine

DIMENSIONS, WORKSPACES, ROUNDS = 8, [f"{n:08d}-0000-0000-0000-000000000000" for n in range(3)], 60


def main():
    folder, seed = sys.argv[1], int(sys.argv[2])
    longer, plain = engine.execute_search_with_index, engine.Collection.search
    assert nearest.install()
    shorter, narrowed = engine.execute_search_with_index, engine.Collection.search
    walked = []
    shorter.longer = lambda *a, **k: walked.append(1) or longer(*a, **k)

    base = lite.MilvusLite(folder)
    rows = collection.create(base, DIMENSIONS, collection.kind(), indexed=True)
    rng, numbers = random.Random(seed), np.random.default_rng(seed)

    def compare():
        for _ in range(4):
            workspace = rng.choice(WORKSPACES)
            expr = rng.choice(["", ' && kind in ["a","b"]', ' && kind == "z"', ' && kind == "none"'])
            query = [
                numbers.standard_normal(DIMENSIONS).astype(np.float32).tolist() for _ in range(rng.choice([1, 1, 3]))
            ]
            asked = {
                "top_k": rng.choice([1, 5, 200]),
                "metric_type": "COSINE",
                "expr": f'workspace_id == "{workspace}"' + expr,
                "output_fields": rng.choice([["id"], ["id"], ["id", "kind"]]),
                "search_params": {"ef": 400},
            }
            engine.execute_search_with_index = longer
            want = plain(rows, query, **asked)
            engine.execute_search_with_index = shorter
            got = narrowed(rows, query, **asked)
            assert [[h["id"] for h in q] for q in got] == [[h["id"] for h in q] for q in want], asked
            for a, b in zip(itertools.chain(*got), itertools.chain(*want)):
                assert abs(a["distance"] - b["distance"]) < 1e-5 and a["entity"] == b["entity"], (a, b)
            found.append(sum(map(len, want)))

    found = []
    for _ in range(ROUNDS):
        keys = [(w, n) for w in WORKSPACES for n in rng.sample(range(40), rng.randint(1, 15))]
        rows.upsert(
            [
                {
                    "id": f"{w}/{n}",
                    "workspace_id": w,
                    "kind": rng.choice("abz"),
                    "vector": numbers.standard_normal(DIMENSIONS).astype(np.float32).tolist(),
                }
                for w, n in keys
            ]
        )
        if rng.random() < 0.5:
            rows.delete([f"{w}/{n}" for w in WORKSPACES for n in rng.sample(range(40), 6)])
        compare()
        if rng.random() < 0.3:
            rows.flush()
            compare()
    base.close()
    assert sum(found) > 1000 and min(found) == 0, found
    assert 0 < len(walked) < len(found) / 2, "the longer way is for other fields"
    print(len(found), "searches,", sum(found), "hits,", len(walked), "by the longer way")


if __name__ == "__main__":
    main()
