"""Has threads write to one collection of milvus-lite at once, and looks at what a process
that dies at that moment would have left. The first argument is a new folder; a second one
leaves out writes.py."""

import os
import random
import shutil
import sys
import threading

import collection
from milvus_lite import db as lite

WRITERS, ROUNDS, ROWS, DIMENSIONS = 6, 40, 20, 64


def main():
    folder = sys.argv[1]
    if len(sys.argv) == 2:
        import writes

        writes.install()
    sys.setswitchinterval(1e-6)  # so that threads meet where they can
    base = lite.MilvusLite(folder)
    rows = collection.create(base, DIMENSIONS)
    held, failed = [set() for _ in range(WRITERS)], []

    def write(writer):
        dice = random.Random(writer)
        try:
            for turn in range(ROUNDS):
                keys = [f"{writer}/{turn}/{n}" for n in range(ROWS)]
                rows.upsert(
                    [
                        {
                            "id": k,
                            "workspace_id": f"{writer % 2}",
                            "vector": [dice.random() for _ in range(DIMENSIONS)],
                        }
                        for k in keys
                    ]
                )
                held[writer].update(keys)
                rows.delete(keys[:1])
                held[writer].discard(keys[0])
                if dice.random() < 0.1:
                    rows.flush()
        except Exception as e:
            failed.append(e)

    threads = [threading.Thread(target=write, args=(w,)) for w in range(WRITERS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed
    want = set().union(*held)
    rows.load()
    check("the process that wrote it", rows, want)
    left = folder + "-left"
    shutil.copytree(folder, left, ignore=lambda _, names: [n for n in names if n == "LOCK"])
    after = lite.MilvusLite(left).get_collection("rows")
    after.load()
    check("the next", after, want)
    print(f"{len(want)} rows stand")
    sys.stdout.flush()
    os._exit(0)


def check(who, rows, want):
    found = {r["id"] for r in rows.query(expr='id != ""', output_fields=["id"], limit=16_000)}
    assert found == want, (
        f"{who} has {len(found)} of {len(want)} rows: {len(want - found)} are lost, {len(found - want)} should be gone"
    )


main()
