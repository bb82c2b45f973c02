"""The model all-MiniLM-L6-v2 behind OpenAI's interface for embeddings.

POST /v1/embeddings and GET /v1/models with a bearer key, GET /health without one.
Livegraph starts this as a child process when no embedder is configured, and the
image of deploy/embedder runs it with --standalone. Nothing is stored, and nothing
is fetched from elsewhere.

One thread a connection, and one for each of two lanes of work (see lanes.py). The
process ends on SIGTERM (requests in flight get GRACE seconds), and as a child at
once when its standard input is closed: that is the parent's death.
"""

import argparse
import contextlib
import os
import sys
import threading
from http.server import ThreadingHTTPServer

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before the import: threads are counted out below

from handler import MAX_TEXTS, Budget, Handler
from lanes import Lane, log
from lifetime import Lifetime
from model import Model

GRACE = 5.0  # seconds that requests in flight get after SIGTERM
MAX_CONNECTIONS = 128
BODIES = 32 << 20  # bytes of bodies that are worked on at a time


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, address, model, key, batch, queue):
        super().__init__(address, Handler)
        self.model, self.key = model, key
        self.bodies = Budget(BODIES)
        self.quick = Lane("quick", model, batch, queue)
        self.bulk = Lane("bulk", model, batch, queue)
        self.slots = threading.BoundedSemaphore(MAX_CONNECTIONS)
        self.active = 0
        self.idle = threading.Condition()
        self.draining = False

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

    def drain(self):
        self.draining = True
        self.shutdown()
        self.server_close()
        with self.idle:
            self.idle.wait_for(lambda: self.active == 0, GRACE)


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--threads", type=positive, default=1, help="cores that one batch is computed on")
    parser.add_argument("--batch", type=positive, default=16, help="most texts that are computed together")
    parser.add_argument("--queue", type=positive, default=4096, help="most texts that wait in each of two lanes")
    parser.add_argument("--standalone", action="store_true", help="nobody's child: standard input means nothing")
    options = parser.parse_args()
    key = os.environ.pop("EMBEDDER_KEY", "")
    if not key:
        sys.exit("EMBEDDER_KEY is not set")
    if options.queue < MAX_TEXTS:
        sys.exit(f"--queue must be at least {MAX_TEXTS}, what one request may have")

    lifetime = Lifetime(child=not options.standalone)
    server = Server((options.host, options.port), Model(options.threads), key, options.batch, options.queue)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="accept", daemon=True).start()
    lifetime.wait()
    server.drain()
    sys.stderr.flush()
    os._exit(0)  # threads of idle connections need no farewell


if __name__ == "__main__":
    main()
