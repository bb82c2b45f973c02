"""Reads of milvus-lite that find every row, also while rows are flushed.

milvus-lite 3.2 replaces the table of rows in memory by an empty one before it writes these rows to
files, and a read takes the list of files before it takes the table. A read at that time finds the
rows in neither. Here a flush holds the lock of the list of files from its first step, and a read
takes the list and the table under that lock.
"""

import copy
import functools

READERS = ("search", "query", "get", "_num_entities")


def install():
    """Replaces the flush and the reads of milvus-lite's collections."""
    from milvus_lite.engine.collection import Collection

    Collection._trigger_flush = locked(Collection._trigger_flush)
    for name in READERS:
        setattr(Collection, name, of_one_moment(getattr(Collection, name)))


def locked(flush):
    @functools.wraps(flush)
    def flushing(self):
        with self._maintenance_lock:  # an RLock, which the flush acquires again
            return flush(self)

    return flushing


def of_one_moment(read):
    """Returns a read of a shallow copy of the collection, whose table and files do not change."""

    @functools.wraps(read)
    def reading(self, *args, **more):
        with self._maintenance_lock:
            view, snapshot = copy.copy(self), self._read_snapshot()
        view._read_snapshot = lambda: snapshot
        return read(view, *args, **more)

    return reading
