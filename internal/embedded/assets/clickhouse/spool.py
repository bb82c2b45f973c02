"""Where the data of INSERTs wait for the engine to read them."""

import mmap
import os
import secrets
import threading


class Spool:
    """A file that holds the data of one INSERT for the engine to read; as inline
    text it would be cut at a semicolon. It lives in memory while the budget
    that all INSERTs share lasts, else in the data directory."""

    budget = threading.Lock()
    left = 0  # bytes of the budget, set by main
    folder = "."  # where files on disk go

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
        if need > self.capacity:
            self.grow(max(need, 2 * self.capacity, 1 << 20))
        return memoryview(self.map)[self.size:need]

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
            if n > cls.left:
                return False
            cls.left -= n
            return True

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
        """Cuts the file to what was written."""
        if self.map is not None:
            self.map.close()
            self.map = None
        os.ftruncate(self.fd, self.size)

    def close(self):
        if self.map is not None:
            self.map.close()
        self.release()
        os.close(self.fd)
