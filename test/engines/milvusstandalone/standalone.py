"""Milvus standalone out of the package milvus: writes its configuration and becomes
the server. The package's own command would stay its parent, and hang at SIGTERM."""

import argparse
import fcntl
import json
import os
import random
import socket
import sys

import milvus

FIRST_PORT, LAST_PORT = 15000, 32000  # below what the kernel hands out for connections
CHOICES = 200


def free(port):
    with socket.socket() as s:
        try:
            s.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose(taken):
    for _ in range(CHOICES):
        port = random.randrange(FIRST_PORT, LAST_PORT)
        if port not in taken and free(port):
            return port
    sys.exit("no free port")


def ports(data, names):
    """The ports of the parts that speak to each other: the same from start to start,
    because a server that was killed is remembered by them for a while."""
    path = os.path.join(data, "ports.json")
    try:
        with open(path, encoding="utf-8") as f:
            kept = json.load(f)
    except FileNotFoundError:
        kept = {}
    for name in names:
        if name not in kept or not free(kept[name]):
            kept[name] = choose(kept.values())
    with open(path, "w", encoding="utf-8") as f:
        json.dump(kept, f)
    return kept


ETCD = """name: default
listen-client-urls: http://127.0.0.1:{client}
advertise-client-urls: http://127.0.0.1:{client}
listen-peer-urls: http://127.0.0.1:{peer}
initial-advertise-peer-urls: http://127.0.0.1:{peer}
initial-cluster: default=http://127.0.0.1:{peer}
"""


def etcd(data, client, peer):
    """The etcd inside has ports of its own, which else are the same for every server."""
    path = os.path.join(data, "etcd.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(ETCD.format(client=client, peer=peer))
    return path


def unpack():
    """The binaries come packed: unpacked once, beside the package."""
    home = os.path.dirname(milvus.__file__)
    with open(os.path.join(home, "unpack.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        milvus._initialize_data_files(home)
    return os.path.join(home, "bin")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    os.makedirs(options.data, exist_ok=True)
    bin_dir = unpack()

    config = milvus.MilvusServerConfig(data_dir=options.data)
    names = [key for key in config.configurable_items if key.endswith("_port") and key != "proxy_port"]
    chosen = ports(options.data, [*names, "metrics", "etcd_peer"])
    config.update(proxy_port=options.port, **{name: chosen[name] for name in names})
    config.resolve()

    os.chdir(options.data)
    env = dict(
        os.environ,
        DEPLOY_MODE="STANDALONE",
        METRICS_PORT=str(chosen["metrics"]),
        ETCD_CONFIG_PATH=etcd(options.data, chosen["etcd_port"], chosen["etcd_peer"]),
        LOG_LEVEL="warn",
        LOG_STDOUT="false",
        COMMON_SESSION_TTL="5",  # after a kill it waits for its own old session to end
        MILVUS_RUN_DIR=os.path.join(options.data, "run"),
        LD_LIBRARY_PATH=bin_dir + ":" + os.environ.get("LD_LIBRARY_PATH", ""),
    )
    binary = os.path.join(bin_dir, "milvus")
    os.execve(binary, [binary, "run", "standalone"], env)


if __name__ == "__main__":
    main()
