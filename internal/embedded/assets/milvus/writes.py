"""One write to a collection of milvus-lite at a time.

milvus-lite 3.2 locks nothing of what writes to a collection against each other: neither
calls of several clients, nor one whose client has gone and that client's next. They number
their rows alike, mix their batches in the log, of which nothing behind the first broken one
is read after a crash, and put in one table what stands in the log of another, which a
flush then removes. What was acknowledged is lost by that, at the next crash or at once.
"""

import functools
import threading

WRITERS = ("insert", "upsert", "delete", "flush", "close")


def install():
    """Has milvus-lite do one after the other."""
    from milvus_lite.engine.collection import Collection

    for name in WRITERS:
        setattr(Collection, name, alone(getattr(Collection, name)))


def alone(write):
    @functools.wraps(write)
    def waiting(self, *args, **more):
        # setdefault gives all of them the same lock.
        with self.__dict__.setdefault("_one_writer", threading.RLock()):
            return write(self, *args, **more)

    return waiting
