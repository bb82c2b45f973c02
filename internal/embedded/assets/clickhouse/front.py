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
when its standard input is closed, which is the parent's death, or when a write has
failed (see writes.py).
"""

import argparse
import fcntl
import os
import sys
import threading

from engine import Engine, Watch
from handler import Handler
from lifetime import Lifetime
from native import _chdb
from serving import BoundedServer
from shards import Shards
from spool import Spool
from writes import Writes, remove_unwritten, wait_for_room

STORE = "store"
GRACE = 5.0  # seconds that statements in flight get after SIGTERM
MAX_CONNECTIONS = 512


class Server(BoundedServer):
    request_queue_size = 256

    def __init__(self, address, engine, password, max_insert):
        super().__init__(address, Handler, MAX_CONNECTIONS)
        self.engine, self.password, self.max_insert = engine, password, max_insert
        self.watch = Watch(engine)
        self.writes = Writes(engine.open("", {}))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--memory", type=int, default=4 << 30, help="bytes the engine may use")
    parser.add_argument("--insert-memory", type=int, default=256 << 20, help="bytes of INSERT data held in memory")
    parser.add_argument("--max-insert", type=int, default=1 << 30, help="largest body of an INSERT")
    parser.add_argument("--shards", type=int, default=0, help="shards of a cluster within this process, see shards.py")
    parser.add_argument(
        "--zookeeper", default="", help="host:port of a ZooKeeper, for replicated tables of the shards"
    )
    options = parser.parse_args()
    password = os.environ.pop("CLICKHOUSE_FRONT_PASSWORD", "")
    if not password:
        sys.exit("CLICKHOUSE_FRONT_PASSWORD is not set")

    lifetime = Lifetime()

    # Paths are relative from here on: chdb would read a ? in one as options.
    os.makedirs(options.data, exist_ok=True)
    os.chdir(options.data)
    # It is open for as long as the process runs.
    lock = open("front.lock", "w")  # noqa: SIM115
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit(f"another process uses {options.data}")
    Spool.left = options.insert_memory
    threading.Thread(target=Spool.forget_forever, name="spools", daemon=True).start()

    if not wait_for_room(lifetime):
        return
    remove_unwritten(STORE)
    _chdb.set_signal_handlers_enabled(0)
    engine = Engine(STORE, options.memory, Shards(options.shards, options.zookeeper) if options.shards else None)
    server = Server(("127.0.0.1", options.port), engine, password, options.max_insert)
    server.start()

    lifetime.wait()
    server.drain(GRACE)
    engine.keeper.close()
    os._exit(0)  # threads of idle connections need no farewell


if __name__ == "__main__":
    main()
