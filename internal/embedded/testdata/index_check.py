"""Cuts the files of indexes off, as a process of milvus-lite leaves them that dies while it
writes them, and has the next one load the collection. The first argument is a new folder;
a second one leaves out writes.py."""

import os
import shutil
import sys

import collection
from milvus_lite import db as lite

ROWS, DIMENSIONS = 50, 8


def main():
    folder = sys.argv[1]
    if len(sys.argv) == 2:
        import writes

        writes.install()
    base = lite.MilvusLite(folder)
    rows = collection.create(base, DIMENSIONS, partitioned=False, indexed=True)
    rows.upsert([{"id": str(n), "vector": [float(n % (d + 2) + 1) for d in range(DIMENSIONS)]} for n in range(ROWS)])
    rows.flush()
    rows._wait_for_bg()
    for cut in (0, 1, 100):
        left = f"{folder}-{cut}"
        shutil.copytree(folder, left, ignore=lambda _, names: [n for n in names if n == "LOCK"])
        indexes = [os.path.join(d, f) for d, _, files in os.walk(left) for f in files if d.endswith("indexes")]
        assert indexes, "there is no file of an index"
        for path in indexes:
            assert path.endswith(".idx"), path
            os.truncate(path, cut)
        for again in (False, True):  # what was made anew is kept
            after = lite.MilvusLite(left)
            held = after.get_collection("rows")
            held.load()
            hits = held.search([[1.0] * DIMENSIONS], top_k=ROWS, metric_type="COSINE", output_fields=["id"])[0]
            assert len(hits) == ROWS, f"cut at {cut}: {len(hits)} of {ROWS} rows are found"
            assert all(os.path.getsize(path) > cut for path in indexes), (
                f"cut at {cut}, again {again}: the file is as it was"
            )
            after.close()
    print("indexes that were cut off are made anew")
    sys.stdout.flush()
    os._exit(0)


main()
