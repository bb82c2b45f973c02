"""What our HTTP servers have in common: a thread a connection, of which there are at
most so many, and an end that waits for what is under way."""

import contextlib
import sys
import threading
import time
from http.server import ThreadingHTTPServer


def log(message):
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), message, file=sys.stderr, flush=True)


LOOK = 0.1  # seconds between two looks whether to end


class BoundedServer(ThreadingHTTPServer):
    """Beyond max_connections, connections wait to be accepted. A handler works inside
    working(), which drain waits for."""

    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, address, handler, max_connections):
        super().__init__(address, handler)
        self.ending = False
        self.slots = threading.BoundedSemaphore(max_connections)
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
        while not self.slots.acquire(timeout=LOOK):
            if self.ending:  # shutdown waits for this thread
                self.shutdown_request(request)
                return
        try:
            super().process_request(request, address)
        except BaseException:  # no thread for it, so nobody else gives its place back
            self.slots.release()
            raise

    def process_request_thread(self, request, address):
        try:
            super().process_request_thread(request, address)
        finally:
            self.slots.release()

    def handle_error(self, request, address):
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            log(f"{type(error).__name__}: {error}")

    def start(self):
        """Serves in a thread of its own."""
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": LOOK}, name="accept", daemon=True).start()

    def drain(self, grace):
        """Takes no further connection, and gives what is under way grace seconds."""
        self.ending = True
        self.shutdown()
        self.server_close()
        with self.idle:
            self.idle.wait_for(lambda: self.active == 0, grace)
