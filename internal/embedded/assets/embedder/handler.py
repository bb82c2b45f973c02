"""The embeddings part of OpenAI's HTTP interface: requests into texts, vectors into
answers, errors in OpenAI's form."""

import base64
import hmac
import json
import re
import select
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler

import numpy as np
from lanes import Job, Overloaded
from serving import log

MAX_BODY = 8 << 20  # bytes of a request
MAX_TEXTS = 2048  # of a request, as at OpenAI
MAX_CHARACTERS = 65536  # of a text: all that tokenising has to look at
QUICK_TEXTS = 4  # requests up to this have a lane of their own

IDLE_TIMEOUT = 120.0  # seconds that an idle connection is kept
TRANSFER_TIMEOUT = 30.0  # seconds that a body or an answer may stand still
LAST_LOOK = 1.0  # seconds that a refused body is still read for
LEFT_EVERY = 0.25  # seconds between two looks whether the client has left

LONE_SURROGATE = re.compile("[\ud800-\udfff]")
LENGTH = re.compile(r"^\d{1,12}$")


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status, message, param=None, code=None, headers=None):
        super().__init__(message)
        self.status, self.param, self.code, self.headers = status, param, code, headers or {}


class Budget:
    """Bytes of bodies that may be worked on at the same time."""

    def __init__(self, total):
        self.lock, self.left = threading.Lock(), total

    def take(self, n):
        with self.lock:
            if n > self.left:
                raise overloaded()
            self.left -= n

    def give(self, n):
        with self.lock:
            self.left += n


def overloaded():
    return Refused(
        503, "The embedder has as much to do as it takes: try again.", None, "overloaded", {"Retry-After": "1"}
    )


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "livegraph-embedder"
    sys_version = ""
    rbufsize = wbufsize = 1 << 16
    timeout = IDLE_TIMEOUT
    disable_nagle_algorithm = True
    unread = False  # of the request's body

    def log_message(self, *args):
        pass

    def send_error(self, code, message=None, explain=None):
        """What the library itself refuses: a request that is no HTTP."""
        self.close_connection = True
        self.command, self.request_version = self.command or "GET", "HTTP/1.1"
        self.fail(Refused(code, "The request is not HTTP as it is spoken here.", headers={"Connection": "close"}))

    def serve(self):
        self.connection.settimeout(TRANSFER_TIMEOUT)
        self.unread = bool(self.headers.get("Transfer-Encoding")) or self.headers.get("Content-Length", "0") != "0"
        try:
            with self.server.working():
                self.route()
        except Refused as e:
            self.fail(e)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception as e:
            log(f"{type(e).__name__}: {e}")
            self.fail(Refused(500, "The embedder failed."))
        if self.unread:
            self.discard()
        self.connection.settimeout(IDLE_TIMEOUT)

    do_GET = do_POST = do_HEAD = do_PUT = do_PATCH = do_DELETE = serve

    def discard(self):
        """Reads on for a moment: closing on a client that still sends would take the
        answer from it."""
        until = time.monotonic() + LAST_LOOK
        try:
            self.connection.shutdown(socket.SHUT_WR)
            while (left := until - time.monotonic()) > 0:
                self.connection.settimeout(left)
                if not self.rfile.read1(1 << 16):
                    break
        except OSError:
            pass

    def route(self):
        path = self.path.partition("?")[0]
        routes = {
            "/health": ("GET", self.health),
            "/v1/models": ("GET", self.models),
            f"/v1/models/{self.server.model.name}": ("GET", self.model),
            "/v1/embeddings": ("POST", self.embeddings),
        }
        if path != "/health":
            self.authenticate()
        if path not in routes:
            raise Refused(404, f"There is no {path}.")
        method, answer = routes[path]
        if self.command != method:
            raise Refused(405, f"{path} takes {method} alone.", None, "method_not_allowed", {"Allow": method})
        answer()

    def authenticate(self):
        kind, _, key = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "bearer" or not hmac.compare_digest(key.strip().encode(), self.server.key.encode()):
            raise Refused(
                401, "The API key is missing or wrong.", None, "invalid_api_key", {"WWW-Authenticate": "Bearer"}
            )

    def health(self):
        self.answer({"status": "ok"})

    def described(self):
        model = self.server.model
        return {"id": model.name, "object": "model", "created": 0, "owned_by": model.owner}

    def model(self):
        self.answer(self.described())

    def models(self):
        self.answer({"object": "list", "data": [self.described()]})

    # Embeddings

    def embeddings(self):
        size = self.body_size()
        self.server.bodies.take(size)
        try:
            texts, as_base64 = parse(self.body(size), self.server.model)
            ids = self.server.model.token_ids(texts)
            vectors = self.compute(Job(ids))
            if vectors is not None:
                self.answer_vectors(vectors, as_base64, sum(map(len, ids)))
        finally:
            self.server.bodies.give(size)

    def body_size(self):
        if self.headers.get("Transfer-Encoding"):
            raise Refused(411, "The request needs a Content-Length.")
        if self.headers.get("Content-Encoding", "identity") != "identity":
            raise Refused(415, "The body must not be compressed.")
        lengths = self.headers.get_all("Content-Length") or ["0"]
        if len(lengths) > 1 or not LENGTH.match(lengths[0]):
            raise Refused(400, "The Content-Length is not a number.")
        if int(lengths[0]) > MAX_BODY:
            raise Refused(413, f"The body has more than {MAX_BODY} bytes.", None, "request_too_large")
        return int(lengths[0])

    def body(self, size):
        body = self.rfile.read(size)
        if len(body) < size:
            raise ConnectionError("the body ended early")
        self.unread = False
        return body

    def compute(self, job):
        """The vectors, or None when the client has left."""
        lane = self.server.quick if len(job.ids) <= QUICK_TEXTS else self.server.bulk
        try:
            lane.submit(job)
        except Overloaded:
            raise overloaded() from None
        hung_up = select.poll()
        hung_up.register(self.connection, select.POLLRDHUP)
        while not job.done.wait(LEFT_EVERY):
            if hung_up.poll(0):
                job.abandoned = self.close_connection = True
                return None
        if job.failed:
            raise Refused(500, "The embedder failed.")
        return job.vectors

    # Answering

    def answer_vectors(self, vectors, as_base64, tokens):
        # One vector after the other: the interpreter is not held up by a large answer.
        data = [
            json.dumps({"object": "embedding", "index": i, "embedding": encoded(v, as_base64)}, separators=(",", ":"))
            for i, v in enumerate(vectors)
        ]
        name, usage = self.server.model.name, json.dumps({"prompt_tokens": tokens, "total_tokens": tokens})
        self.send(200, f'{{"object":"list","data":[{",".join(data)}],"model":"{name}","usage":{usage}}}'.encode())

    def answer(self, value):
        self.send(200, json.dumps(value).encode())

    def fail(self, e):
        kind = "invalid_request_error" if e.status < 500 else "server_error"
        error = {"message": str(e), "type": kind, "param": e.param, "code": e.code}
        try:
            self.send(e.status, json.dumps({"error": error}).encode(), e.headers)
        except OSError:
            self.close_connection = True

    def send(self, status, body, headers=None):
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if self.unread or self.server.draining:
            self.send_header("Connection", "close")
            self.close_connection = True
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()


def parse(body, model):
    """The texts of a request, and whether their vectors are wanted as base64."""
    try:
        request = json.loads(body.decode())
    except (ValueError, RecursionError):
        raise Refused(400, "The body is not JSON in UTF-8.") from None
    if not isinstance(request, dict):
        raise Refused(400, "The body is not a JSON object.")
    if request.get("model") != model.name:
        raise Refused(404, f"The model is not there; there is {model.name}.", "model", "model_not_found")
    if request.get("dimensions", model.dimensions) not in (model.dimensions, None):
        raise Refused(400, f"The model has {model.dimensions} dimensions and no other number.", "dimensions")
    form = request.get("encoding_format") or "float"
    if form not in ("float", "base64"):
        raise Refused(400, "The encoding_format is neither float nor base64.", "encoding_format")
    return texts_of(request.get("input")), form == "base64"


def texts_of(given):
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not texts:
        raise Refused(400, "The input is neither a text nor a list of texts.", "input")
    if len(texts) > MAX_TEXTS:
        raise Refused(400, f"The input has more than {MAX_TEXTS} texts.", "input")
    for i, text in enumerate(texts):
        where = f"input[{i}]" if texts is given else "input"
        if not isinstance(text, str):
            raise Refused(400, f"{where} is not a text (lists of token ids are not taken).", where)
        if not text.strip():
            raise Refused(400, f"{where} is empty.", where)
        if len(text) > MAX_CHARACTERS:
            raise Refused(400, f"{where} has more than {MAX_CHARACTERS} characters.", where)
        if LONE_SURROGATE.search(text):
            raise Refused(400, f"{where} is not valid Unicode.", where)
    return texts


def encoded(vector, as_base64):
    """A vector as OpenAI writes it: numbers, or little-endian float32 in base64."""
    if as_base64:
        return base64.b64encode(vector.astype("<f4").tobytes()).decode()
    return np.round(vector.astype(np.float64), 9).tolist()  # float32 has no more to tell
