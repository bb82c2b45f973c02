"""A cluster of shards within this process, for tests and trials.

chdb has no listener, so that no other server can reach it, and no ON CLUSTER. But it
has Distributed tables, and reads a shard that is its own address in this process. So
the cluster has this address several times, and the tables that the shards have in
common are a table of engine Merge over one database a shard, of which a shard reads
its own. What a cluster does otherwise is done here, in statements:

- ON CLUSTER: the statement runs in the database of each shard;
- an INSERT into a Distributed table: its rows are divided by the table's key;
- cluster(..., system.parts) and the like: the rows of the shards' databases;
- with a ZooKeeper, the macro {shard} of replicated tables, each of one replica.

A database d has the shards d__s1, d__s2 and so on.
"""

import collections
import itertools
import re
import threading

CLUSTER = "livegraph"
CONFIG = "cluster.xml"

# Nothing listens there: the port only says that the shards are this server.
SHARD = """<shard><internal_replication>true</internal_replication>
<replica><host>127.0.0.1</host><port>1</port></replica></shard>
"""

WORD = r"[`\"]?(\w+)[`\"]?"
ON_CLUSTER = re.compile(
    r"\s*((CREATE|ALTER|DROP|OPTIMIZE|TRUNCATE|DELETE)\s+(?:OR\s+REPLACE\s+)?(?:TABLE|FROM)(?:\s+IF\s+(?:NOT\s+)?EXISTS)?)\s+"
    + WORD
    + r"\s+ON\s+CLUSTER\s+"
    + WORD.replace("`", "`'"),
    re.I,
)
DROP_DATABASE = re.compile(r"\s*DROP\s+DATABASE\s+(?:IF\s+EXISTS\s+)?" + WORD, re.I)
INSERT = re.compile(r"\s*INSERT\s+INTO\s+(?:TABLE\s+)?(?:" + WORD + r"\.)?" + WORD + r"\s*(\([^)]*\))?\s*", re.I)
DISTRIBUTED = re.compile(r"Distributed\('\w+', '\w+', '(\w+)', (.*)\)$")
SYSTEM = re.compile(r"cluster(?:AllReplicas)?\(\s*'\w+'\s*,\s*system\.(\w+)\s*\)", re.I)
OF_SERVER = ("disks", "clusters", "macros")  # tables of system that are not of databases
CHANGES_COLUMNS = re.compile(r"\bCOLUMN\b", re.I)
CREATES_MERGE = re.compile(r"\s*CREATE\b.*\bENGINE\s*=\s*Merge\(", re.I | re.S)


def database_of(database, shard):
    return f"{database}__s{shard}"


def system_rows(match):
    table = match[1].lower()
    if table in OF_SERVER:
        return f"system.{table}"
    return f"(SELECT * REPLACE (splitByString('__s', database)[1] AS database) FROM system.{table})"


class Shards:
    """The shards of an engine."""

    def __init__(self, count, zookeeper=""):
        self.count = count
        replicas = ""
        if zookeeper:
            host, port = zookeeper.rsplit(":", 1)
            replicas = (
                f"<zookeeper><node><host>{host}</host><port>{port}</port></node></zookeeper>"
                "<macros><shard>imitated</shard><replica>1</replica></macros>"
                "<interserver_http_host>127.0.0.1</interserver_http_host>"
                "<interserver_http_port>1</interserver_http_port>"
            )
        self.numbers = itertools.count(1)
        self.lock = threading.Lock()  # of changes of tables
        self.changes = collections.Counter()  # of the Merge tables of a database, which its connections know
        with open(CONFIG, "w") as file:
            file.write(
                f"<clickhouse><remote_servers><{CLUSTER}>{SHARD * count}</{CLUSTER}></remote_servers>"
                f"<tcp_port>1</tcp_port>{replicas}</clickhouse>"
            )

    def version(self, database):
        """Differs between connections that know the tables of a database and those from before."""
        return self.changes[database.split("__s")[0]]

    def settings(self, connection, database):
        """The settings with which a shard reads only its own database."""
        names = rows(connection, f"SELECT name FROM system.tables WHERE engine = 'Merge' AND database = '{database}'")
        shard = f"_database = concat(\\'{database}__s\\', toString(shardNum()))"
        filters = ", ".join(f"'{database}.{name}': '{shard}'" for (name,) in names)
        return f"SET additional_table_filters = {{{filters}}}, prefer_localhost_replica = 1"

    def run(self, engine, statement, database, settings):
        """Runs a statement that a cluster would run on several servers, or returns False."""
        if match := DROP_DATABASE.match(statement):
            with self.lock, engine.connection("", {}) as conn:
                for shard in range(1, self.count + 1):
                    conn.query(f"DROP DATABASE IF EXISTS `{database_of(match[1], shard)}`")
            return False
        if match := ON_CLUSTER.match(statement):
            self.on_cluster(engine, match, statement[match.end() :], database, settings)
            return True
        if match := INSERT.match(statement):
            with engine.connection(database, settings) as conn:
                target = self.target(conn, match[1] or database, match[2])
                if target:
                    self.insert_rows(conn, match, statement[match.end() :], match[1] or database, target)
            return bool(target)
        if CREATES_MERGE.match(statement):
            with self.lock:
                self.changes[database] += 1
        return False

    def on_cluster(self, engine, match, rest, database, settings):
        head, verb, table, cluster = match[1], match[2].upper(), match[3], match[4]
        if cluster != CLUSTER:
            raise RuntimeError(
                f"Code: 170. DB::Exception: Requested cluster '{cluster}' not found. (CLUSTER_DOESNT_EXIST)"
            )
        with self.lock:
            local = table.endswith("_local")
            names = [database_of(database, shard) for shard in range(1, self.count + 1)] if local else [database]
            if verb == "CREATE" and local:
                with engine.connection("", {}) as conn:
                    for name in names:
                        conn.query(f"CREATE DATABASE IF NOT EXISTS `{name}` ENGINE = Atomic")
            for shard, name in enumerate(names, 1):
                with engine.connection(name, settings) as conn:
                    conn.query(f"{head} `{table}` {rest.replace('{shard}', str(shard))}")
            if local:
                with engine.connection(database, {}) as conn:
                    if verb == "DROP":
                        conn.query(f"DROP TABLE IF EXISTS `{table}`")
                    elif verb == "CREATE" or (verb == "ALTER" and CHANGES_COLUMNS.search(rest)):
                        conn.query(
                            f"CREATE OR REPLACE TABLE `{table}` AS `{names[0]}`.`{table}`"
                            f" ENGINE = Merge(REGEXP('^{database}__s[0-9]+$'), '^{table}$')"
                        )
                        self.changes[database] += 1

    def target(self, conn, database, table):
        """The table of the shards and the key of a Distributed table, None for another one."""
        found = rows(conn, f"SELECT engine_full FROM system.tables WHERE database = '{database}' AND name = '{table}'")
        match = DISTRIBUTED.match(found[0][0]) if found else None
        return match and (match[1], match[2])

    def divide(self, conn, database, target, columns, source, params=None):
        """Inserts the rows of a source into the shards. Returns the last result."""
        local, key = target
        for shard in range(1, self.count + 1):
            result = conn.query(
                f"INSERT INTO `{database_of(database, shard)}`.`{local}` {columns}"
                f" SELECT * FROM {source} WHERE ({key}) % {self.count} = {shard - 1}",
                "Native",
                params=params or {},
            )
        return result

    def insert_rows(self, conn, match, rest, database, target):
        """INSERT ... SELECT and VALUES: by way of a table in memory."""
        columns = match[3] or ""
        name = f"rows{next(self.numbers)}"
        conn.query(
            f"CREATE TEMPORARY TABLE {name} ENGINE = Memory AS SELECT {columns.strip('()') or '*'}"
            f" FROM `{database}`.`{match[2]}` LIMIT 0"
        )
        try:
            conn.query(f"INSERT INTO {name} {columns} {rest}")
            self.divide(conn, database, target, columns, name)
        finally:
            conn.query(f"DROP TEMPORARY TABLE IF EXISTS {name}")

    def insert_file(self, conn, head, source, database, params):
        """INSERT of a file's rows. None: not into a Distributed table."""
        match = INSERT.match(head)
        target = match and self.target(conn, match[1] or database, match[2])
        if not target:
            return None
        return self.divide(conn, match[1] or database, target, match[3] or "", source, params)

    @staticmethod
    def read(statement):
        """A query with what stands for the tables of system of other servers."""
        return SYSTEM.sub(system_rows, statement)


def rows(conn, statement):
    """The rows of a query without special characters."""
    text = conn.query(statement, "TabSeparatedRaw").bytes().decode()
    return [line.split("\t") for line in text.splitlines()]
