"""Where the data of INSERTs wait for the engine to read them."""

import collections
import mmap
import os
import secrets
import threading
import time
from typing import ClassVar

SMALL = 1 << 20  # bytes; a file that holds no more is not worth keeping
KEPT = 2  # files, at most: as many INSERTs of points run at a time
KEPT_BYTES = 64 << 20  # of one, at most
KEPT_SECONDS = 30.0  # that a file is kept unused, at least

Kept = collections.namedtuple("Kept", "fd map capacity since")


class Spool:
    """A file that holds the data of one INSERT for the engine to read; as inline
    text it would be cut at a semicolon. It lives in memory while the budget
    that all INSERTs share lasts, else in the data directory.

    Memory that is new costs a fault a page where it is written, which for points was
    a quarter of the CPU time of an INSERT: a few files in memory are used again."""

    budget = threading.Lock()
    left = 0  # bytes of the budget, set by main
    folder = "."  # where files on disk go
    kept: ClassVar = []  # that no INSERT uses, the last used last; they have their part of the budget

    def __init__(self):
        self.fd = os.memfd_create("insert", os.MFD_CLOEXEC)
        self.on_disk = False
        self.capacity = 0
        self.size = 0
        self.map = None

    @property
    def path(self):
        """How the engine opens the file, whose name is gone or never was."""
        return f"/proc/self/fd/{self.fd}"

    def room(self, n):
        """A writable view of n more bytes."""
        need = self.size + n
        if need > self.capacity and self.capacity <= SMALL < need:
            self.reuse()
        if need > self.capacity:
            self.grow(max(need, 2 * self.capacity, SMALL))
        return memoryview(self.map)[self.size : need]

    def reuse(self):
        """Goes on in a kept file, if there is one."""
        with self.budget:
            if self.on_disk or not Spool.kept:
                return
            kept = Spool.kept.pop()
            try:
                os.ftruncate(kept.fd, kept.capacity)
            except OSError:
                self.drop(kept)
                raise
        if self.map is not None:
            kept.map[: self.size] = self.map[: self.size]
            self.map.close()
        self.release()
        os.close(self.fd)
        self.fd, self.map, self.capacity = kept.fd, kept.map, kept.capacity

    def grow(self, capacity):
        if not self.on_disk and not self.reserve(capacity - self.capacity):
            self.to_disk()
        if self.on_disk:
            os.posix_fallocate(self.fd, 0, capacity)  # a full disk is told here, not by a signal
        else:
            os.ftruncate(self.fd, capacity)
        if self.map is None:
            self.map = mmap.mmap(self.fd, capacity)
        else:
            self.map.resize(capacity)
        self.capacity = capacity

    @classmethod
    def reserve(cls, n):
        with cls.budget:
            while n > cls.left and cls.kept:
                cls.drop(cls.kept.pop(0))
            if n > cls.left:
                return False
            cls.left -= n
            return True

    @classmethod
    def drop(cls, kept):
        kept.map.close()
        os.close(kept.fd)
        cls.left += kept.capacity

    @classmethod
    def forget(cls, seconds=KEPT_SECONDS):
        """Gives back the memory of files that were not used for so long."""
        with cls.budget:
            while cls.kept and cls.kept[0].since <= time.monotonic() - seconds:
                cls.drop(cls.kept.pop(0))

    @classmethod
    def forget_forever(cls):
        while True:
            time.sleep(KEPT_SECONDS)
            cls.forget()

    def release(self):
        if not self.on_disk:
            with self.budget:
                Spool.left += self.capacity

    def to_disk(self):
        path = os.path.join(self.folder, secrets.token_hex(12))
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        os.unlink(path)  # it lives as long as it is open
        if self.map is not None:
            os.ftruncate(fd, self.capacity)
            os.pwrite(fd, memoryview(self.map)[: self.size], 0)
            self.map.close()
            self.map = mmap.mmap(fd, self.capacity)
        self.release()
        os.close(self.fd)
        self.fd, self.on_disk = fd, True

    def done(self):
        """Cuts the file to what was written: nothing may touch the view after it."""
        os.ftruncate(self.fd, self.size)

    def keep(self):
        """Closes the file, or keeps it for another INSERT: the engine must have read it
        to its end, since it maps what it reads, and a file that is cut under a reader
        kills the process."""
        if not self.on_disk and SMALL < self.capacity <= KEPT_BYTES:
            with self.budget:
                if len(Spool.kept) < KEPT:
                    Spool.kept.append(Kept(self.fd, self.map, self.capacity, time.monotonic()))
                    return
        self.close()

    def close(self):
        if self.map is not None:
            self.map.close()
        self.release()
        os.close(self.fd)
