"""Writes that failed. chdb 26.9 counts them, and goes on: a part whose files are cut
off or empty takes its place, its sources are removed minutes later, and an INSERT of
which nothing was written is answered as if all was well (ADR 38).

So nothing is answered before it is known that no write has failed. Once one has, the
process ends, and what it could not write is removed before the next one opens the
store: an INSERT that was not answered is sent again, the sources of a merge or a
mutation are still there.
"""

import os
import shutil
import threading
import time

from serving import log

# Asking takes as long as inserting ten thousand rows: where INSERTs come one after the
# other and the disk has so much room, one answer in so many seconds does for all.
SELDOM = 0.1
AMPLE = 256 << 20
WATCH_SECONDS = 1.0  # merges are looked after so often
MARGIN_SECONDS = 60.0  # by how much times of files and of the clock may differ

# What a statement that changes a table or its rows needs: where a table's definition
# cannot be written, the table is lost.
ROOM = 8 << 20
ROOM_TO_START = 4 << 20

FAILED = "SELECT value FROM system.events WHERE event = 'WriteBufferFromFileDescriptorWriteFailed'"
METHODS = {0x82: "lz4_raw", 0x90: "zstd"}
MARK = "written"  # its time is when all was known to be written


def free():
    """The bytes that are free where the store is."""
    disk = os.statvfs(".")
    return disk.f_bavail * disk.f_frsize


def wait_for_room(lifetime):
    """Waits until the engine can be opened: it writes while it is. False if the
    process is to end before."""
    if free() >= ROOM_TO_START:
        return True
    log(f"the disk is full: waiting for {ROOM_TO_START} bytes")
    while free() < ROOM_TO_START:
        if lifetime.wait(0.25):
            return False
    return True


class Writes:
    """Knows whether all writes of the engine have succeeded."""

    def __init__(self, connection):
        self.connection = connection
        self.lock = threading.Lock()
        self.asked = 0.0
        self.confirm()
        threading.Thread(target=self.watch, name="writes", daemon=True).start()

    def confirm(self, seldom=False):
        """Returns if no write has failed, else ends the process. Seldom: what was
        asked a moment ago will do, unless the disk may be full."""
        if seldom and time.monotonic() - self.asked < SELDOM and free() >= AMPLE:
            return
        with self.lock:
            began = time.monotonic()
            failed = self.connection.query(FAILED, "TabSeparatedRaw").bytes().decode().strip()
            if failed:
                log(
                    f"{failed} writes have failed, the disk has {free()} bytes left: "
                    "ending, to begin with what was written"
                )
                os._exit(1)
            self.asked = began
            touch()

    def watch(self):
        while True:
            time.sleep(WATCH_SECONDS)
            self.confirm(seldom=True)


def touch():
    try:
        os.utime(MARK)
    except FileNotFoundError:
        os.close(os.open(MARK, os.O_CREAT | os.O_WRONLY, 0o600))


def remove_unwritten(store):
    """Removes what was not written whole since it was last known that all was. The
    engine must not be open."""
    try:
        since = os.stat(MARK).st_mtime - MARGIN_SECONDS
    except FileNotFoundError:
        return
    for table in tables(store):
        for entry in os.scandir(table):
            at = entry.stat(follow_symlinks=False)
            if max(at.st_mtime, at.st_ctime) < since:
                continue
            if entry.is_dir(follow_symlinks=False):
                if is_part(entry.name) and not is_whole(entry.path):
                    log(f"removing part {entry.path}, which was not written whole")
                    shutil.rmtree(entry.path)
            elif entry.name.startswith("mutation_") and not ends_with_a_line(entry.path):
                log(f"removing {entry.path}, which was not written whole")
                os.remove(entry.path)


def tables(store):
    """The folders of tables: store/<three digits of an id>/<id>."""
    root = os.path.join(store, "store")
    for group in os.scandir(root) if os.path.isdir(root) else ():
        if group.is_dir():
            yield from (table.path for table in os.scandir(group.path) if table.is_dir())


def is_part(name):
    """Whether a folder of a table is one of its parts: not tmp_..., not detached."""
    return "_" in name and not name.startswith(("tmp", "delete_tmp", "moving", "detached"))


def is_whole(part):
    """Whether the files of a part are as long as its list of them says."""
    try:
        with open(os.path.join(part, "checksums.txt"), "rb") as file:
            sizes = listed(file.read())
    except FileNotFoundError:
        return True  # not a part as we know them: the engine's own matter
    except (ValueError, IndexError):
        return False
    except KeyError:
        return True  # compressed in a way that we do not know
    for name, size in sizes.items():
        try:
            if os.path.getsize(os.path.join(part, name)) != size:
                return False
        except FileNotFoundError:
            pass  # packed into another file
    return all(
        os.path.getsize(os.path.join(part, name))
        for name in ("columns.txt", "count.txt")
        if os.path.exists(os.path.join(part, name))
    )


def ends_with_a_line(path):
    with open(path, "rb") as file:
        return file.read().endswith(b"\n")


def listed(text):
    """The sizes in a list of files, by name: its format 4."""
    head = b"checksums format version: "
    if not text.startswith(head):
        raise ValueError("no list of files")
    version, _, packed = text[len(head) :].partition(b"\n")
    if version != b"4":
        return {}  # another engine's: not looked into
    data = unpacked(packed)
    sizes = {}
    count, at = number(data, 0)
    for _ in range(count):
        length, at = number(data, at)
        name = data[at : at + length].decode()
        sizes[name], at = number(data, at + length)
        at += 16  # the hash
        compressed, at = data[at], at + 1
        if compressed:
            _, at = number(data, at)
            at += 16
    return sizes


def number(data, at):
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def unpacked(packed):
    """Blocks as ClickHouse compresses them: 16 bytes of hash, the method, the sizes
    with and without compression, the data."""
    import pyarrow  # slow to load, and seldom needed

    out, at = bytearray(), 0
    while at < len(packed):
        method = METHODS[packed[at + 16]]
        size, plain = (int.from_bytes(packed[n : n + 4], "little") for n in (at + 17, at + 21))
        data = packed[at + 25 : at + 16 + size]
        if len(data) != size - 9:
            raise ValueError("a block is cut off")
        out += pyarrow.decompress(data, decompressed_size=plain, codec=method, asbytes=True)
        at += 16 + size
    return bytes(out)
