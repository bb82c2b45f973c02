"""What stands: of each series and time the point with the highest version.

A SQLite file, so that it outlives the consumer; any database will do that can store
a row unless it has a newer one. Whatever is read again changes nothing in it.
"""

import sqlite3

SCHEMA = """
CREATE TABLE IF NOT EXISTS series (
    workspace TEXT, id TEXT, source TEXT, metric TEXT, tags TEXT, PRIMARY KEY (workspace, id));
CREATE TABLE IF NOT EXISTS points (
    workspace TEXT, series TEXT, time_us INTEGER, value, version INTEGER, PRIMARY KEY (workspace, series, time_us));
CREATE TABLE IF NOT EXISTS deletions (
    workspace TEXT, source TEXT, metric TEXT, from_us INTEGER, to_us INTEGER, whole INTEGER, version INTEGER,
    UNIQUE (workspace, source, version, metric, from_us, to_us));
CREATE TABLE IF NOT EXISTS gone (workspace TEXT PRIMARY KEY);
"""

# A deletion removes what was accepted before it; that of a whole source also what
# follows. It is kept, so that what it covers stays deleted when it is read again.
COVERED = """
    d.workspace = :workspace AND d.source = :source AND (d.whole OR (
        d.version > p.version AND (d.metric IS NULL OR d.metric = :metric)
        AND (d.from_us IS NULL OR p.time_us >= d.from_us) AND (d.to_us IS NULL OR p.time_us < d.to_us)))
"""


class Table:
    """The table in a file. Its changes hold once commit() has returned."""

    def __init__(self, path):
        self.db = sqlite3.connect(path)
        self.db.executescript(SCHEMA)

    def put(self, series, points):
        """Stores points, (time in microseconds, value, version), unless they are older
        than what is there or deleted."""
        if self.db.execute("SELECT 1 FROM gone WHERE workspace = ?", (series["workspace"],)).fetchone():
            return
        self.db.execute("INSERT OR IGNORE INTO series VALUES (:workspace, :id, :source, :metric, :tags)", series)
        self.db.executemany(
            """INSERT INTO points VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
               SET value = excluded.value, version = excluded.version WHERE excluded.version >= points.version""",
            [(series["workspace"], series["id"], *point) for point in points],
        )
        self._bury(series)

    def remove(self, deletion):
        """Takes away what a deletion covers, and keeps the deletion."""
        if deletion["whole_workspace"]:  # its id is never used again, like that of a source
            self.db.execute("INSERT OR IGNORE INTO gone VALUES (?)", (deletion["workspace"],))
            for table in ("series", "points", "deletions"):
                self.db.execute(f"DELETE FROM {table} WHERE workspace = ?", (deletion["workspace"],))
            return
        known = self.db.execute(
            """SELECT 1 FROM deletions WHERE workspace = :workspace AND source = :source AND version = :version
               AND metric IS :metric AND from_us IS :from_us AND to_us IS :to_us""",
            deletion,
        ).fetchone()
        if not known:
            self.db.execute(
                "INSERT INTO deletions VALUES (:workspace, :source, :metric, :from_us, :to_us, :whole, :version)",
                deletion,
            )
        of_source = self.db.execute(
            "SELECT workspace, id, source, metric FROM series WHERE workspace = :workspace AND source = :source",
            deletion,
        )
        for workspace, series, source, metric in of_source.fetchall():
            self._bury({"workspace": workspace, "id": series, "source": source, "metric": metric})

    def _bury(self, series):
        buried = {key: series[key] for key in ("workspace", "id", "source", "metric")}
        if self.db.execute(
            "SELECT 1 FROM deletions WHERE workspace = ? AND source = ?", (series["workspace"], series["source"])
        ).fetchone():
            self.db.execute(
                f"""DELETE FROM points AS p WHERE p.workspace = :workspace AND p.series = :id
                    AND EXISTS (SELECT 1 FROM deletions d WHERE {COVERED})""",
                buried,
            )

    def commit(self):
        """Makes the changes hold."""
        self.db.commit()

    def summary(self):
        """Gives a row a series that has points: workspace, source, metric, tags, count,
        sum of the numbers, last value."""
        return self.db.execute(
            """SELECT s.workspace, s.source, s.metric, s.tags, count(*),
                      sum(CASE WHEN typeof(p.value) = 'text' THEN 0.0 ELSE p.value END),
                      (SELECT value FROM points l WHERE l.workspace = s.workspace AND l.series = s.id
                      ORDER BY time_us DESC LIMIT 1)
               FROM series s JOIN points p ON p.workspace = s.workspace AND p.series = s.id
               GROUP BY s.workspace, s.id ORDER BY s.source, s.metric"""
        ).fetchall()
