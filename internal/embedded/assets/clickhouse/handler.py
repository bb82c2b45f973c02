"""ClickHouse's HTTP interface: requests into statements, results into answers."""

import base64
import contextlib
import hmac
import json
import re
import secrets
import urllib.parse
from http.server import BaseHTTPRequestHandler

from engine import Refused, quoted
from serving import log
from spool import Spool
from writes import ROOM, free

MAX_STATEMENT = 16 << 20  # bytes of SQL
TRANSFER_TIMEOUT = 120.0  # seconds that a body or an answer may stand still

HELLO = "SELECT displayName(), version(), revision(), timezone()"

# Query parameters that are not settings, and settings that the front decides:
# an INSERT is answered when its rows are there.
NOT_SETTINGS = frozenset(
    "query database default_format user password quota_key query_id client_protocol_version "
    "compress decompress session_id session_timeout session_check close_session "
    "buffer_size wait_end_of_query stacktrace enable_http_compression add_http_cors_header "
    "send_progress_in_http_headers http_headers_progress_interval_ms role "
    "cancel_http_readonly_queries_on_client_close "
    "async_insert wait_for_async_insert async_insert_deduplicate".split()
)

# The class of a statement by its first word; what is not here is a change. Control has
# places of its own: changes may wait for what it starts, merges for example.
KINDS = {
    **dict.fromkeys(("SELECT", "WITH", "CHECK"), "query"),
    **dict.fromkeys(("SHOW", "DESCRIBE", "DESC", "EXISTS", "EXPLAIN"), "describe"),
    **dict.fromkeys(("SYSTEM", "KILL"), "control"),
    "INSERT": "insert",
}

# Changes that need no room on the disk, or make some.
NEEDS_NO_ROOM = frozenset(("DROP", "DETACH"))

# Formats whose pieces, one after the other, are the whole: results in these are
# streamed.
STREAMED = frozenset(
    "Native RowBinary TabSeparated TSV TabSeparatedRaw TSVRaw CSV JSONEachRow JSONCompactEachRow".split()
)

FIRST_WORD = re.compile(r"(?:\s+|--[^\n]*(?:\n|$)|#[ !][^\n]*(?:\n|$)|/\*.*?\*/|\()*([A-Za-z]*)", re.S)
ANY_FORMAT = re.compile(r"\bFORMAT\s+([A-Za-z0-9]+)", re.I)
INSERT_FORMAT = re.compile(r"\bFORMAT\s+([A-Za-z0-9]+)\s*;?\s*$", re.I)
DROP_SYNC = re.compile(r"\s+SYNC\s*$", re.I)
ERROR_CODE = re.compile(r"Code: (\d+)\.")
SETTING_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "chdb"
    rbufsize = 1 << 16
    wbufsize = 1 << 16
    timeout = None  # idle connections live as long as their client
    disable_nagle_algorithm = True

    def log_message(self, *args):
        pass

    def serve(self):
        self.connection.settimeout(TRANSFER_TIMEOUT)
        self.try_route()
        self.connection.settimeout(None)

    do_GET = do_POST = serve

    def try_route(self):
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
            if args.get(name, "0") not in ("", "0", "false"):
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
            with contextlib.suppress(ValueError):
                user, _, password = base64.b64decode(credentials).decode().partition(":")
        right = hmac.compare_digest(password.encode(), self.server.password.encode())
        if user not in ("", "default") or not right:
            raise Refused(
                "default: Authentication failed: password is incorrect, or there is no user with such name",
                516,
                "AUTHENTICATION_FAILED",
                403,
            )

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
                raise Refused(
                    f"The data of an INSERT are at most {self.server.max_insert} bytes",
                    241,
                    "MEMORY_LIMIT_EXCEEDED",
                    413,
                )
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
        spool, read = Spool(), False
        try:
            self.read_data(spool)
            data_format = INSERT_FORMAT.search(statement)
            head = statement[: data_format.start()]
            settings, params = split(args)
            with engine.turn("insert"), engine.connection(args.get("database", ""), settings) as conn:
                source = f"file({quoted(spool.path)}, {quoted(data_format[1])})"
                result = self.insert_file(conn, head, source, args, params)
            read = True
            self.server.writes.confirm(seldom=True)
            summary = json.dumps(
                {"written_rows": str(result.rows_written()), "written_bytes": str(result.bytes_written())}
            )
            self.answer(b"", "text/plain", {"X-ClickHouse-Summary": summary})
        finally:
            if read:
                spool.keep()
            else:
                spool.close()

    def insert_file(self, conn, head, source, args, params):
        shards = self.server.engine.shards
        result = shards.insert_file(conn, head, source, args.get("database", ""), params) if shards else None
        return conn.query(f"{head} SELECT * FROM {source}", "Native", params=params) if result is None else result

    def run(self, statement, args):
        engine = self.server.engine
        plain = statement.strip().rstrip(";").strip()
        word = first_word(plain)
        if not plain:
            raise Refused("Empty query", 62, "SYNTAX_ERROR", 400)
        if plain == HELLO:
            return self.answer(engine.hello)
        if word in ("SET", "USE"):
            return self.answer(b"")  # it would hold for this request alone
        if word in ("DROP", "DETACH"):
            plain = DROP_SYNC.sub("", plain)  # it never returns in chdb
        if word == "INSERT":
            plain = statement  # its data may end on anything
        settings, params = split(args)
        result_format = args.get("default_format", self.headers.get("X-ClickHouse-Format", "TabSeparated"))
        kind = kind_of(plain, word)
        if engine.shards:
            with engine.turn(kind):
                done = engine.shards.run(engine, plain, args.get("database", ""), settings)
            if done:
                self.server.writes.confirm()
                return self.answer(b"")
            plain = engine.shards.read(plain)
        with engine.turn(kind), engine.connection(args.get("database", ""), settings) as conn:
            if streamable(plain, word, result_format):
                return self.stream(conn, plain, result_format, params)
            if kind == "change" and word not in NEEDS_NO_ROOM and free() < ROOM:
                raise Refused(f"Cannot reserve {ROOM >> 20} MiB, not enough space", 243, "NOT_ENOUGH_SPACE")
            result = conn.query(plain, result_format, params=params)
        if kind in ("insert", "change"):
            self.server.writes.confirm()
        self.answer(result.bytes())

    def stream(self, conn, statement, result_format, params):
        """Sends the result as it comes. Before its first piece an error is an
        error; after it, it stands within the answer."""
        tag = f"/*livegraph {next(self.server.engine.numbers)}*/"
        with self.server.watch.over(self.connection, tag):
            result = conn.send_query(tag + statement, result_format, params=params)
            try:
                while (piece := conn.streaming_fetch_result(result)) and piece.rows_read():
                    self.piece(piece.bytes())
            except OSError:  # the client is gone
                conn.streaming_cancel_query(result)
                raise
        if self.started:
            self.end()
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
        self.wfile.write(body)
        self.wfile.flush()

    def piece(self, data):
        if not self.started:
            self.tag = secrets.token_hex(8)
            self.head(
                200,
                "application/octet-stream",
                {"Transfer-Encoding": "chunked", "X-ClickHouse-Exception-Tag": self.tag},
            )
        if data:
            self.wfile.write(b"%x\r\n" % len(data))
            self.wfile.write(data)
            self.wfile.write(b"\r\n")
            self.wfile.flush()

    def end(self):
        self.wfile.write(b"0\r\n\r\n")
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
            self.end()
        except OSError:
            self.close_connection = True


def first_word(statement):
    return FIRST_WORD.match(statement)[1].upper()


def kind_of(statement, word):
    """The class whose places a statement takes."""
    return "health" if statement == "SELECT 1" else KINDS.get(word, "change")


def streamable(statement, word, result_format):
    formats = {result_format, *ANY_FORMAT.findall(statement)}
    return word in ("SELECT", "WITH") and formats <= STREAMED


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
