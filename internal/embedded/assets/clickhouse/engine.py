"""The engine: chdb, its connections, and how many statements run at once."""

import collections
import contextlib
import itertools
import os
import select
import threading
import time

from native import _chdb
from serving import log
from shards import CONFIG

# Statements of a class that run at once, and how long one waits for its turn.
CLASSES = {"health": 2, "describe": 4, "query": 8, "insert": 4, "change": 2, "control": 2}
TURN_SECONDS = 20.0

IDLE_CONNECTIONS = 24  # engine connections kept, each with its settings applied
WATCH_MILLISECONDS = 100  # how soon a new statement is watched at the latest

TASKS = "/proc/self/task"  # Linux's folder of this process's threads
MERGE_THREADS = "MergeMutate"
MERGE_NICENESS = 10  # a tenth of the time that a thread of niceness 0 gets beside it
POOL_SIZE = "SELECT value FROM system.server_settings WHERE name = 'background_pool_size'"
NAMING_SECONDS = 2.0  # how long the threads that merge may take to start


class Refused(Exception):
    """A request that is answered with an error of ours, in ClickHouse's form."""

    def __init__(self, message, code, name, status=500):
        super().__init__(f"Code: {code}. DB::Exception: {message} ({name})")
        self.status = status


def quoted(value):
    """A value as a string literal of SQL."""
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def text(value):
    """A value as the Native format writes a string."""
    raw = value.encode()
    return varint(len(raw)) + raw


def lower_merge_threads():
    """Gives the threads that merge a low priority, and returns how many there are."""
    found = 0
    for thread in os.listdir(TASKS):
        with contextlib.suppress(OSError), open(f"{TASKS}/{thread}/comm") as comm:  # others come and go
            if comm.read().strip() == MERGE_THREADS:
                os.setpriority(os.PRIO_PROCESS, int(thread), MERGE_NICENESS)
                found += 1
    return found


class Engine:
    """The engine and its connections. A connection has one database and one set
    of settings for as long as it lives, so that none leaks to another request."""

    def __init__(self, path, memory, shards=None):
        self.path = path
        self.shards = shards  # see shards.py; None: one server
        self.defaults = {
            "async_insert": "0",
            "implicit_select": "0",  # chdb's own default takes any word for a SELECT
            "max_execution_time": "120",
            "max_memory_usage": str(memory // 2),
        }
        self.lock = threading.Lock()
        self.idle = collections.OrderedDict()  # (database, settings) -> [connection]
        self.idle_count = 0
        self.numbers = itertools.count(1)
        self.gates = {name: threading.BoundedSemaphore(n) for name, n in CLASSES.items()}
        # The first connection holds the engine open, and sets its memory.
        options = f"max_server_memory_usage={memory}"
        if shards:
            options += f"&config-file={CONFIG}"
        self.keeper = _chdb.connect(f"{path}?{options}")
        # A database like a server's. The one called default also finds files.
        self.keeper.query("CREATE DATABASE IF NOT EXISTS livegraph ENGINE = Atomic")
        self.put_merges_last()
        self.version = self.keeper.query("SELECT version()", "TabSeparatedRaw").bytes().decode().strip()
        self.hello = self.hello_block()

    def put_merges_last(self):
        """Lets inserts and queries have the processors before merges, which then find
        more parts at a time to merge and so write each row less often. A server has a
        setting for it, os_threads_nice_value_merge_mutate, to which chdb does not listen."""
        # The first table that has parts starts the threads, which stay.
        try:
            self.keeper.query("CREATE TEMPORARY TABLE parted (n UInt8) ENGINE = MergeTree ORDER BY n")
            self.keeper.query("DROP TEMPORARY TABLE parted")
        except RuntimeError as error:  # a full disk, say, which is no reason not to start
            log(f"merges may not come last: {error}")
        if not os.path.isdir(TASKS):
            return
        threads = int(self.keeper.query(POOL_SIZE, "TabSeparatedRaw").bytes())
        # A thread names itself only once it runs, which may be after the table is there.
        deadline = time.monotonic() + NAMING_SECONDS
        while (found := lower_merge_threads()) < threads:
            if time.monotonic() > deadline:
                log(f"{found} of {threads} threads that merge have a lower priority")
                return
            time.sleep(0.005)

    def hello_block(self):
        """The one block that clickhouse-go decodes at its own protocol version:
        block info, columns and rows, then each column with its 0 byte for "no
        custom serialisation". Revision 0 makes all that follows plain Native."""
        out = bytearray(b"\x01\x00\x02\xff\xff\xff\xff\x00" + varint(4) + varint(1))
        for name, kind, value in (
            ("displayName()", "String", text("livegraph")),
            ("version()", "String", text(self.version)),
            ("revision()", "UInt32", (0).to_bytes(4, "little")),
            ("timezone()", "String", text("UTC")),
        ):
            out += text(name) + text(kind) + b"\x00" + value
        return bytes(out)

    @contextlib.contextmanager
    def turn(self, kind):
        """Holds one of the places of a class of statements."""
        if not self.gates[kind].acquire(timeout=TURN_SECONDS):
            raise Refused(
                f"Too many simultaneous statements of class {kind}: {CLASSES[kind]} are running",
                202,
                "TOO_MANY_SIMULTANEOUS_QUERIES",
                503,
            )
        try:
            yield
        finally:
            self.gates[kind].release()

    @contextlib.contextmanager
    def connection(self, database, settings):
        """Lends a connection. One whose statement failed is not lent again: its
        state is in doubt."""
        key = (database, tuple(sorted(settings.items())), self.shards.version(database) if self.shards else 0)
        conn = self.take(key) or self.open(database, settings)
        try:
            yield conn
        except BaseException:
            conn.close()
            raise
        surplus = self.put(key, conn)
        if surplus is not None:
            surplus.close()

    def take(self, key):
        with self.lock:
            spare = self.idle.get(key)
            if not spare:
                return None
            conn = spare.pop()
            self.idle_count -= 1
            if not spare:
                del self.idle[key]
            return conn

    def put(self, key, conn):
        """Keeps a connection, and gives back the one there is no more room for."""
        with self.lock:
            self.idle.setdefault(key, []).append(conn)
            self.idle.move_to_end(key)
            self.idle_count += 1
            if self.idle_count <= IDLE_CONNECTIONS:
                return None
            oldest, spare = next(iter(self.idle.items()))
            surplus = spare.pop(0)
            self.idle_count -= 1
            if not spare:
                del self.idle[oldest]
            return surplus

    def open(self, database, settings):
        conn = _chdb.connect(self.path)
        try:
            for name, value in {**self.defaults, **settings}.items():
                conn.query(f"SET {name} = {quoted(value)}")
            if database:
                conn.query("USE `" + database.replace("\\", "\\\\").replace("`", "\\`") + "`")
            if self.shards:
                conn.query(self.shards.settings(conn, database))
        except BaseException:
            conn.close()
            raise
        return conn

    def kill(self, tag):
        """Stops the statement that begins with the tag."""
        try:
            with self.connection("", {}) as conn:
                conn.query(f"KILL QUERY WHERE startsWith(query, {quoted(tag)}) ASYNC")
        except RuntimeError as e:
            log(f"cannot kill a query whose client left: {e}")


class Watch:
    """Notices clients that hang up while their query runs, and kills the query."""

    def __init__(self, engine):
        self.engine = engine
        self.changed = threading.Condition()
        self.watched = {}  # file descriptor of the client's socket -> tag of its query
        self.poll = select.poll()
        threading.Thread(target=self.run, name="watch", daemon=True).start()

    @contextlib.contextmanager
    def over(self, sock, tag):
        fd = sock.fileno()
        with self.changed:
            self.watched[fd] = tag
            self.poll.register(fd, select.POLLRDHUP)
            self.changed.notify()
        try:
            yield
        finally:
            with self.changed:
                if self.watched.pop(fd, None):
                    self.poll.unregister(fd)

    def run(self):
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.watched)
            for fd, _ in self.poll.poll(WATCH_MILLISECONDS):
                with self.changed:
                    # What hung up may have been another socket of that number, whose
                    # query had just ended: it is looked at again.
                    tag = self.watched.pop(fd, None) if hung_up(fd) else None
                    if tag:
                        self.poll.unregister(fd)
                if tag:
                    self.engine.kill(tag)


def hung_up(fd):
    """Whether the client behind a socket has closed its side."""
    poll = select.poll()
    poll.register(fd, select.POLLRDHUP)
    return bool(poll.poll(0))
