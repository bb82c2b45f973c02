"""ClickHouse's HTTP interface over chdb, the ClickHouse engine as a library.

Livegraph starts this as a child process when no ClickHouse is configured. It
speaks as much of the HTTP interface as clickhouse-go and curl need: statements
in the body or in ?query=, settings and param_x as query parameters, INSERTs with
their data in the body, Native and every other format, errors as HTTP 500 with
X-ClickHouse-Exception-Code. Not there: users beyond the one, sessions, transfer
compression, external tables.

One thread a connection. Each class of statement (see engine.py) has its own bound
on how many run at once, so that long queries cannot hold up inserts, nor either
of them the health checks. Results are streamed, so memory does not grow with
them; when a client hangs up, its query is killed.

The process ends on SIGTERM (statements in flight get GRACE seconds), and at once
when its standard input is closed: that is the parent's death.
"""

import argparse
import contextlib
import fcntl
import os
import sys
import threading
from http.server import ThreadingHTTPServer

from chdb import _chdb

from engine import Engine, Watch, log
from handler import Handler
from lifetime import Lifetime
from spool import Spool

GRACE = 5.0  # seconds that statements in flight get after SIGTERM
MAX_CONNECTIONS = 512


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

    lifetime = Lifetime()

    # Paths are relative from here on: chdb would read a ? in one as options.
    os.makedirs(options.data, exist_ok=True)
    os.chdir(options.data)
    lock = open("front.lock", "w")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"another process uses {options.data}")
    Spool.left = options.insert_memory

    _chdb.set_signal_handlers_enabled(0)
    engine = Engine("store", options.memory)
    server = Server(("127.0.0.1", options.port), engine, password, options.max_insert)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="accept", daemon=True).start()

    lifetime.wait()
    server.shutdown()
    server.server_close()
    with server.idle:
        server.idle.wait_for(lambda: server.active == 0, GRACE)
    engine.keeper.close()
    os._exit(0)  # threads of idle connections need no farewell


if __name__ == "__main__":
    main()
