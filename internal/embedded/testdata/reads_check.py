"""Reads a collection of milvus-lite while another thread writes to it and flushes it. Each read must
find the rows that were there before. The first argument is a new folder; with a second one, reads.py
is not used."""

import sys
import threading
import time

import collection
from milvus_lite import db as lite

FLUSHES, ROWS, DIMENSIONS = 6, 50, 16
WORKSPACE = "10000000-0000-0000-0000-000000000000"
SEARCHES = 'workspace_id == "' + WORKSPACE + '"'


def main():
    import nearest
    import writes

    nearest.install()
    if len(sys.argv) == 2:
        import reads

        reads.install()
    writes.install()
    slow_flushes()
    base = lite.MilvusLite(sys.argv[1])
    rows = collection.create(base, DIMENSIONS)
    rows.load()

    def write(first, workspace):
        rows.upsert(
            [
                {"id": f"{workspace}/{first + n}", "workspace_id": workspace, "vector": [1.0 + n] * DIMENSIONS}
                for n in range(ROWS)
            ]
        )

    keys = [f"{WORKSPACE}/{n}" for n in range(ROWS)]
    found = {
        "search": lambda: len(
            rows.search([[1.0] * DIMENSIONS], ROWS, "COSINE", expr=SEARCHES, output_fields=["id"])[0]
        ),
        "query": lambda: len(rows.query(SEARCHES, output_fields=["id"])),
        "get": lambda: len(rows.get(keys, output_fields=["id"])),
        "count": lambda: min(rows.num_entities, ROWS),
    }
    done, wrong, reads_made = threading.Event(), {}, dict.fromkeys(found, 0)

    def read(name):
        while not done.is_set():
            count = found[name]()
            reads_made[name] += 1
            if count != ROWS:
                wrong.setdefault(name, []).append(count)

    write(0, WORKSPACE)
    threads = [threading.Thread(target=read, args=(name,)) for name in found]
    for thread in threads:
        thread.start()
    for turn in range(FLUSHES):
        write(turn * ROWS, "other")
        write(0, WORKSPACE)  # the same rows
        rows.flush()
    done.set()
    for thread in threads:
        thread.join()
    base.close()
    print(f"reads: {reads_made}")
    if wrong or not all(reads_made.values()):
        sys.exit("wrong numbers of rows: " + "; ".join(f"{n}: {len(c)} reads, {c[:5]}" for n, c in wrong.items()))


def slow_flushes():
    """Makes each flush wait between its first two steps, so that reads occur in between."""
    from milvus_lite.engine import collection

    class SlowWAL(collection.WAL):
        def __init__(self, *args, **more):
            time.sleep(0.01)
            super().__init__(*args, **more)

    collection.WAL = SlowWAL


main()
