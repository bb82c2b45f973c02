"""A model of embeddings behind OpenAI's interface for embeddings.

POST /v1/embeddings and GET /v1/models with a bearer key, GET /health without one.
Livegraph starts this as a child process when no embedder is configured, and the
image of deploy/embedder runs it with --standalone. Nothing is stored, and nothing
is fetched from elsewhere.

One thread a connection, and some for each of two lanes of work (see lanes.py). The
process ends on SIGTERM (requests in flight get GRACE seconds), and as a child at
once when its standard input is closed: that is the parent's death.
"""

import argparse
import os
import sys

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before the import: threads are counted out below

from handler import MAX_TEXTS, Budget, Handler
from lanes import Lane
from lifetime import Lifetime
from model import DEFAULT, MODULES, Model
from serving import BoundedServer

GRACE = 5.0  # seconds that requests in flight get after SIGTERM
MAX_CONNECTIONS = 128
# A third of the time that a thread of the usual niceness gets beside it. It is not lower, because the
# thread of queries waits while this one holds the interpreter.
BULK_NICENESS = 5
BODIES = 32 << 20  # bytes of bodies that are worked on at a time


class Server(BoundedServer):
    request_queue_size = 128

    def __init__(self, address, model, key, batch, queue, threads):
        super().__init__(address, Handler, MAX_CONNECTIONS)
        self.model, self.key = model, key
        self.bodies = Budget(BODIES)
        self.quick = Lane("quick", model, batch, queue, threads)
        self.bulk = Lane("bulk", model, batch, queue, threads, BULK_NICENESS)
        self.draining = False

    def drain(self, grace):
        self.draining = True
        super().drain(grace)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--model", default=os.environ.get("EMBEDDER_MODEL", DEFAULT), help=", ".join(MODULES))
    parser.add_argument(
        "--threads",
        type=positive,
        default=1,
        help="batches that are computed at a time in each of two lanes, each on one core",
    )
    parser.add_argument("--batch", type=positive, default=16, help="most texts that are computed together")
    parser.add_argument("--queue", type=positive, default=4096, help="most texts that wait in each of two lanes")
    parser.add_argument("--standalone", action="store_true", help="nobody's child: standard input means nothing")
    options = parser.parse_args()
    key = os.environ.pop("EMBEDDER_KEY", "")
    if not key:
        sys.exit("EMBEDDER_KEY is not set")
    if options.model not in MODULES:
        sys.exit(f"there is no model {options.model}")
    if options.queue < MAX_TEXTS:
        sys.exit(f"--queue must be at least {MAX_TEXTS}, what one request may have")

    lifetime = Lifetime(child=not options.standalone)
    server = Server(
        (options.host, options.port), Model(options.model), key, options.batch, options.queue, options.threads
    )
    server.start()
    lifetime.wait()
    server.drain(GRACE)
    sys.stderr.flush()
    os._exit(0)  # threads of idle connections need no farewell


if __name__ == "__main__":
    main()
