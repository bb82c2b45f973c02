"""ClickHouse's HTTP interface over chdb, the ClickHouse engine as a library.

Livegraph starts this as a child process when no ClickHouse is configured. It
speaks as much of the HTTP interface as clickhouse-go and curl need: statements
in the body or in ?query=, settings and param_x as query parameters, INSERTs with
their data in the body, Native and every other format, errors as HTTP 500 with
X-ClickHouse-Exception-Code. Not there: users beyond the one, sessions, transfer
compression, external tables.

One thread a connection. Each class of statement (see CLASSES) has its own bound
on how many run at once, so that long queries cannot hold up inserts, nor either
of them the health checks. Results are streamed, so memory does not grow with
them; when the client hangs up, its query is killed.

The process ends on SIGTERM (statements in flight get GRACE seconds), and at once
when its standard input is closed: that is the parent's death.
"""

import argparse
import collections
import contextlib
import fcntl
import hmac
import base64
import itertools
import json
import mmap
import os
import re
import secrets
import select
import signal
import socket
import sys
import threading
import time
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Times without a zone are UTC, as on a server.
os.environ.setdefault("TZ", "UTC")

from chdb import _chdb  # noqa: E402

# Statements of a class that run at once, and how long one waits for its turn.
CLASSES = {"health": 2, "query": 8, "insert": 4, "change": 2}
TURN_SECONDS = 20.0
GRACE = 5.0
MAX_CONNECTIONS = 512
MAX_STATEMENT = 16 << 20  # bytes of SQL
IDLE_CONNECTIONS = 24  # engine connections kept, each with its settings applied
SOCKET_TIMEOUT = 300.0

HELLO = "SELECT displayName(), version(), revision(), timezone()"

# Query parameters of the HTTP interface that are not settings.
NOT_SETTINGS = frozenset(
    "query database default_format user password quota_key query_id client_protocol_version "
    "buffer_size wait_end_of_query stacktrace close_session session_timeout session_check "
    "enable_http_compression add_http_cors_header send_progress_in_http_headers "
    "http_headers_progress_interval_ms role cancel_http_readonly_queries_on_client_close "
    "async_insert wait_for_async_insert async_insert_deduplicate".split()
)

FIRST_WORD = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|/\*.*?\*/|\()*([A-Za-z]*)", re.S)
INSERT_FORMAT = re.compile(r"\bFORMAT\s+([A-Za-z0-9]+)\s*;?\s*$", re.I)
DROP_SYNC = re.compile(r"\s+SYNC\s*;?\s*$", re.I)
ERROR_CODE = re.compile(r"Code: (\d+)\.")
SETTING_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


class Refused(Exception):
    """A request that is answered with an error of ours, in ClickHouse's form."""

    def __init__(self, message, code, name, status=500):
        super().__init__(f"Code: {code}. DB::Exception: {message} ({name})")
        self.status = status


def quoted(value):
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def varint(n):
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def text(value):
    raw = value.encode()
    return varint(len(raw)) + raw


class Engine:
    """The engine and its connections. A connection has one database and one set
    of settings for as long as it lives, so that none leaks to another request."""

    def __init__(self, path, memory):
        self.path = path
        self.defaults = {
            "async_insert": "0",
            "implicit_select": "0",
            "max_memory_usage": str(memory // 2),
            "max_execution_time": "120",
            "database_atomic_wait_for_drop_and_detach_synchronously": "0",
        }
        self.lock = threading.Lock()
        self.idle = collections.OrderedDict()  # (database, settings) -> [connection]
        self.idle_count = 0
        self.numbers = itertools.count(1)
        self.gates = {name: threading.BoundedSemaphore(n) for name, n in CLASSES.items()}
        self.keeper = _chdb.connect(f"{path}?max_server_memory_usage={memory}")  # holds the engine open
        self.version = self.value("SELECT version()")
        self.hello = self.hello_block()

    def value(self, sql):
        return self.keeper.query(sql, "TabSeparatedRaw").bytes().decode().strip()

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
        if not self.gates[kind].acquire(timeout=TURN_SECONDS):
            raise Refused(f"Too many simultaneous statements of class {kind}: {CLASSES[kind]} are running",
                          202, "TOO_MANY_SIMULTANEOUS_QUERIES", 503)
        try:
            yield
        finally:
            self.gates[kind].release()

    @contextlib.contextmanager
    def connection(self, database, settings, keep=True):
        key = (database, tuple(sorted(settings.items())))
        with self.lock:
            spare = self.idle.get(key)
            conn = spare.pop() if spare else None
            if conn is not None:
                self.idle_count -= 1
                if not spare:
                    del self.idle[key]
        if conn is None:
            conn = self.open(database, settings)
        try:
            yield conn
        except BaseException:
            keep = False  # its state is in doubt
            raise
        finally:
            if keep:
                self.put(key, conn)
            else:
                conn.close()

    def put(self, key, conn):
        with self.lock:
            self.idle.setdefault(key, []).append(conn)
            self.idle.move_to_end(key)
            self.idle_count += 1
            drop = None
            if self.idle_count > IDLE_CONNECTIONS:
                oldest = next(iter(self.idle))
                drop = self.idle[oldest].pop(0)
                self.idle_count -= 1
                if not self.idle[oldest]:
                    del self.idle[oldest]
        if drop is not None:
            drop.close()

    def open(self, database, settings):
        conn = _chdb.connect(self.path)
        try:
            for name, value in {**self.defaults, **settings}.items():
                conn.query(f"SET {name} = {quoted(value)}")
            if database:
                conn.query("USE `" + database.replace("\\", "\\\\").replace("`", "\\`") + "`")
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
        self.lock = threading.Lock()
        self.watched = {}
        self.poll = select.poll()
        threading.Thread(target=self.run, name="watch", daemon=True).start()

    @contextlib.contextmanager
    def over(self, sock, tag):
        fd = sock.fileno()
        with self.lock:
            self.watched[fd] = tag
            self.poll.register(fd, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
        try:
            yield
        finally:
            with self.lock:
                if self.watched.pop(fd, None) is not None:
                    self.poll.unregister(fd)

    def run(self):
        while True:
            gone = []
            for fd, _ in self.poll.poll(50):
                with self.lock:
                    tag = self.watched.pop(fd, None)
                    if tag is not None:
                        self.poll.unregister(fd)
                        gone.append(tag)
            for tag in gone:
                self.engine.kill(tag)
            if not gone:
                time.sleep(0.05)


class Spool:
    """A file that holds the data of one INSERT for the engine to read; as inline
    text it would be cut at a semicolon. It lives in memory while the budget
    that all INSERTs share lasts, else in the data directory."""

    budget = threading.Lock()
    left = 0  # bytes of the budget, set by main
    folder = ""  # where files on disk go, set by main

    def __init__(self):
        self.fd = os.memfd_create("insert", os.MFD_CLOEXEC)
        self.path = f"/proc/self/fd/{self.fd}"
        self.on_disk = False
        self.capacity = 0
        self.size = 0
        self.map = None

    def room(self, n):
        """A writable view of n more bytes."""
        need = self.size + n
        if need > self.capacity:
            self.grow(max(need, 2 * self.capacity, 1 << 20))
        return memoryview(self.map)[self.size:need]

    def grow(self, capacity):
        if not self.on_disk and not self.reserve(capacity - self.capacity):
            self.to_disk()
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
        if self.map is not None:
            os.ftruncate(fd, self.capacity)
            os.pwrite(fd, memoryview(self.map)[: self.size], 0)
            self.map.close()
            self.map = mmap.mmap(fd, self.capacity)
        self.release()
        os.close(self.fd)
        self.fd, self.path, self.on_disk = fd, path, True

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
        if self.on_disk:
            os.unlink(self.path)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "chdb"
    rbufsize = 1 << 16
    wbufsize = 1 << 16
    timeout = SOCKET_TIMEOUT
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.serve()

    def do_POST(self):
        self.serve()

    do_HEAD = do_GET

    def serve(self):
        self.started = False  # the answer's head is out
        self.unread = self.headers.get("Transfer-Encoding") or self.headers.get("Content-Length", "0") != "0"
        try:
            with self.server.working():
                self.route()
        except Refused as e:
            self.fail(e.status, str(e))
        except RuntimeError as e:  # what chdb raises
            self.fail(500, str(e))
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as e:
            log(f"{type(e).__name__}: {e}")
            self.fail(500, f"Code: 1002. DB::Exception: {type(e).__name__}: {e} (UNKNOWN_EXCEPTION)")

    def route(self):
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/ping":
            return self.answer(b"Ok.\n", "text/plain")
        if url.path not in ("", "/", "/query"):
            raise Refused(f"There is no handle {url.path}", 1000, "POCO_EXCEPTION", 404)
        args = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True, max_num_fields=1000))
        self.authenticate(args)
        for name in ("compress", "decompress", "session_id"):
            if args.get(name, "0") not in ("", "0"):
                raise Refused(f"The embedded ClickHouse has no {name}", 48, "NOT_IMPLEMENTED")
        if self.headers.get("Content-Encoding", "identity") != "identity":
            raise Refused("The embedded ClickHouse reads no Content-Encoding", 48, "NOT_IMPLEMENTED")
        statement = args.get("query", "")
        if first_word(statement) == "INSERT" and INSERT_FORMAT.search(statement):
            return self.insert(statement, args)
        body = self.read_statement()
        statement = f"{statement}\n{body}" if statement and body else statement or body
        self.run(statement, args)

    def authenticate(self, args):
        user = self.headers.get("X-ClickHouse-User", args.get("user", ""))
        password = self.headers.get("X-ClickHouse-Key", args.get("password", ""))
        kind, _, credentials = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() == "basic":
            try:
                user, _, password = base64.b64decode(credentials).decode().partition(":")
            except ValueError:
                pass
        right = hmac.compare_digest(password.encode(), self.server.password.encode())
        if user not in ("", "default") or not right:
            raise Refused("default: Authentication failed: password is incorrect, or there is no user with such name",
                          516, "AUTHENTICATION_FAILED", 403)

    # Reading

    def chunks(self):
        """The body's pieces as (length, read) where read(view) fills a view."""
        def read(view):
            while len(view):
                n = self.rfile.readinto(view)
                if not n:
                    raise ConnectionError("the body ended early")
                view = view[n:]

        if "chunked" not in self.headers.get("Transfer-Encoding", "").lower():
            length = int(self.headers.get("Content-Length") or 0)
            if length:
                yield length, read
            self.unread = False
            return
        while True:
            size = int(self.rfile.readline(64).split(b";")[0], 16)
            if size == 0:
                break
            yield size, read
            self.rfile.readline(8)
        while self.rfile.readline(65536) not in (b"\r\n", b"\n", b""):
            pass
        self.unread = False

    def read_statement(self):
        data = bytearray()
        for size, read in self.chunks():
            if len(data) + size > MAX_STATEMENT:
                raise Refused(f"The statement is longer than {MAX_STATEMENT} bytes", 62, "SYNTAX_ERROR", 413)
            piece = bytearray(size)
            read(memoryview(piece))
            data += piece
        try:
            return data.decode()
        except UnicodeDecodeError as e:
            raise Refused(f"The statement is not UTF-8: {e}", 62, "SYNTAX_ERROR", 400) from None

    def read_data(self, spool):
        for size, read in self.chunks():
            if spool.size + size > self.server.max_insert:
                raise Refused(f"The data of an INSERT are at most {self.server.max_insert} bytes", 241,
                              "MEMORY_LIMIT_EXCEEDED", 413)
            view = spool.room(size)
            try:
                read(view)
            finally:
                view.release()
            spool.size += size
        spool.done()

    # Running

    def insert(self, statement, args):
        engine = self.server.engine
        spool = Spool()
        try:
            self.read_data(spool)
            data_format = INSERT_FORMAT.search(statement)
            head = statement[: data_format.start()]
            settings, params = split(args)
            with engine.turn("insert"), engine.connection(args.get("database", ""), settings) as conn:
                if data_format[1] == "Native":
                    source = f" SELECT * FROM file({quoted(spool.path)}, 'Native')"
                    result = conn.query(head + source, "Native", params=params)
                else:
                    result = self.insert_text(conn, head, data_format[1], spool)
            summary = json.dumps({"written_rows": str(result.rows_written()), "written_bytes": str(result.bytes_written())})
            self.answer(b"", "text/plain", {"X-ClickHouse-Summary": summary})
        finally:
            spool.close()

    def insert_text(self, conn, head, data_format, spool):
        """Formats that need the table's structure to be read."""
        stream = conn.send_insert(head, data_format)
        at = 0
        while piece := os.pread(spool.fd, 1 << 20, at):
            conn.insert_append(stream, piece)
            at += len(piece)
        return conn.insert_done(stream)

    def run(self, statement, args):
        engine = self.server.engine
        plain = statement.strip().rstrip(";").strip()
        if plain == HELLO:
            return self.answer(engine.hello)
        word = first_word(plain)
        if not plain:
            raise Refused("Empty query", 62, "SYNTAX_ERROR", 400)
        if word in ("SET", "USE"):
            return self.answer(b"")  # it would hold for this request alone
        kind = "query"
        if plain == "SELECT 1":
            kind = "health"
        elif word == "INSERT":
            kind = "insert"
        elif word not in ("SELECT", "WITH", "SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN", "CHECK", "VALUES"):
            kind = "change"
        if word == "DROP" or word == "DETACH":
            plain = DROP_SYNC.sub("", plain)  # it never returns in chdb
        settings, params = split(args)
        out_format = self.headers.get("X-ClickHouse-Format", args.get("default_format", "TabSeparated"))
        with engine.turn(kind), engine.connection(args.get("database", ""), settings) as conn:
            if word in ("SELECT", "WITH"):
                self.stream(conn, plain, out_format, params)
                return
            result = conn.query(plain, out_format, params=params)
        self.answer(result.bytes())

    def stream(self, conn, statement, out_format, params):
        tag = f"/*livegraph {next(self.server.engine.numbers)}*/"
        with self.server.watch.over(self.connection, tag):
            result = conn.send_query(tag + statement, out_format, params=params)
            while True:
                piece = conn.streaming_fetch_result(result)
                if piece is None or piece.rows_read() == 0:
                    break
                try:
                    self.piece(piece.bytes())
                except (ConnectionError, TimeoutError):
                    conn.streaming_cancel_query(result)
                    raise
        if self.started:
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()
        else:
            self.answer(b"")

    # Answering

    def head(self, status, kind, fields):
        self.started = True
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("X-ClickHouse-Server-Display-Name", "livegraph")
        for name, value in fields.items():
            self.send_header(name, value)
        if self.unread:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()

    def answer(self, body, kind="application/octet-stream", fields=None, status=200):
        self.head(status, kind, {**(fields or {}), "Content-Length": str(len(body))})
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def piece(self, data):
        if not self.started:
            self.tag = secrets.token_hex(8)
            self.head(200, "application/octet-stream",
                      {"Transfer-Encoding": "chunked", "X-ClickHouse-Exception-Tag": self.tag})
        if data:
            self.wfile.write(b"%x\r\n" % len(data))
            self.wfile.write(data)
            self.wfile.write(b"\r\n")
            self.wfile.flush()

    def fail(self, status, message):
        code = ERROR_CODE.search(message)
        try:
            if not self.started:
                fields = {"X-ClickHouse-Exception-Code": code[1] if code else "1002"}
                return self.answer(message.encode() + b"\n", "text/plain; charset=UTF-8", fields, status)
            # The answer has begun: ClickHouse's form of an error within a result.
            body = message.encode()[: 12 << 10]
            tag = self.tag.encode()
            self.piece(b"\r\n__exception__\r\n%s\r\n%s\n%d %s\r\n__exception__\r\n" % (tag, body, len(body) + 1, tag))
            self.wfile.flush()
        except OSError:
            pass
        self.close_connection = True


def first_word(statement):
    return FIRST_WORD.match(statement)[1].upper()


def split(args):
    """The settings and the parameters among a request's query parameters."""
    settings, params = {}, {}
    for name, value in args.items():
        if name.startswith("param_"):
            params[name[6:]] = value
        elif name in NOT_SETTINGS:
            continue
        elif SETTING_NAME.match(name):
            settings[name] = value
        else:
            raise Refused(f"Unknown setting {name!r}", 115, "UNKNOWN_SETTING")
    return settings, params


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256
    allow_reuse_address = True

    def __init__(self, address, engine, password, max_insert):
        super().__init__(address, Handler)
        self.engine, self.password, self.max_insert = engine, password, max_insert
        self.watch = Watch(engine)
        self.slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self.active = 0
        self.idle = threading.Condition()

    @contextlib.contextmanager
    def working(self):
        with self.idle:
            self.active += 1
        try:
            yield
        finally:
            with self.idle:
                self.active -= 1
                self.idle.notify_all()

    def process_request(self, request, address):
        self.slots.acquire()
        super().process_request(request, address)

    def process_request_thread(self, request, address):
        try:
            super().process_request_thread(request, address)
        finally:
            self.slots.release()

    def handle_error(self, request, address):
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            log(f"{type(error).__name__}: {error}")


def log(message):
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), message, file=sys.stderr, flush=True)


def wait_for_end(wake):
    """Returns at SIGTERM or SIGINT; ends the process when the parent is gone."""
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    if not sys.stdin.closed:
        poll.register(0, select.POLLIN | select.POLLHUP)
    while True:
        for fd, _ in poll.poll():
            if fd == wake:
                return
            if not os.read(0, 4096):
                os._exit(0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--memory", type=int, default=4 << 30, help="bytes the engine may use")
    parser.add_argument("--insert-memory", type=int, default=256 << 20, help="bytes of INSERT data held in memory")
    parser.add_argument("--max-insert", type=int, default=1 << 30, help="largest body of an INSERT")
    options = parser.parse_args()
    password = os.environ.pop("LIVEGRAPH_CLICKHOUSE_PASSWORD", "")
    if not password:
        sys.exit("LIVEGRAPH_CLICKHOUSE_PASSWORD is not set")

    wake, wake_end = os.pipe()
    os.set_blocking(wake_end, False)
    signal.set_wakeup_fd(wake_end)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)

    os.makedirs(options.data, exist_ok=True)
    lock = open(os.path.join(options.data, "front.lock"), "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"another process uses {options.data}")
    Spool.folder = os.path.join(options.data, "spool")
    Spool.left = options.insert_memory
    os.makedirs(Spool.folder, exist_ok=True)
    for name in os.listdir(Spool.folder):
        os.unlink(os.path.join(Spool.folder, name))

    _chdb.set_signal_handlers_enabled(0)
    engine = Engine(os.path.join(options.data, "store"), options.memory)
    server = Server(("127.0.0.1", options.port), engine, password, options.max_insert)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="accept", daemon=True).start()

    wait_for_end(wake)
    server.shutdown()
    server.server_close()
    with server.idle:
        server.idle.wait_for(lambda: server.active == 0, GRACE)
    engine.keeper.close()
    os._exit(0)  # threads of idle connections need no farewell


if __name__ == "__main__":
    main()
