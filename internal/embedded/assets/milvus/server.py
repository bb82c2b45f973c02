"""milvus-lite, which is Milvus' gRPC interface over files in a folder, as a child
process of Livegraph: on the loopback only, and no longer than its parent."""

import argparse
import os
import sys

from bare import hide, import_bare

# milvus-lite needs only pymilvus' protobuf stubs. Its client imports pandas, which takes half a second
# and 35 MB. So would pyarrow in the first search, to recognize pandas' types.
import_bare("pymilvus")
hide("pandas")

import duplicates
import nearest
import reads
import writes
from lifetime import Lifetime

GRACE = 3  # seconds that calls in flight get after SIGTERM


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    lifetime = Lifetime()

    # By default gRPC would share the port with another server on it.
    import grpc

    make = grpc.server
    grpc.server = lambda pool, options=(): make(pool, options=[*options, ("grpc.so_reuseport", 0)])

    from milvus_lite.adapter.grpc.server import start_server_in_thread

    duplicates.install()
    nearest.install()
    reads.install()
    writes.install()
    server, db, port = start_server_in_thread(options.data, "127.0.0.1", options.port)
    if port != options.port:
        sys.exit(f"port {options.port} is taken")
    lifetime.wait()
    server.stop(GRACE).wait()
    db.close()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
