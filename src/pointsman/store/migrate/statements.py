"""Every statement of an import, as static text with parameters.

``{table}``, ``{topic}`` and ``{priority}`` are names, which SQL has no parameters for; ``named`` puts them in, quoted.
Values are asked for as bytes where a text that is no UTF-8 may be, and as NULL where they are no number.
"""

from __future__ import annotations

# -- the source

SOURCE_BEGIN = "BEGIN"
SOURCE_ENCODING = "PRAGMA encoding"
SOURCE_EXCLUSIVE = "PRAGMA locking_mode = EXCLUSIVE"
SOURCE_COLUMNS = """
SELECT t.name, lower(c.name) FROM pragma_table_list AS t JOIN pragma_table_info(t.name) AS c
WHERE t.schema = 'main' AND t.type = 'table' AND t.wr = 0 ORDER BY t.name
"""
SOURCE_COUNT = """
SELECT CASE typeof(status) WHEN 'integer' THEN status END, count(*) FROM {table} NOT INDEXED
WHERE ?1 IS NULL OR rowid > ?1 GROUP BY 1
"""
SOURCE_FIRST = """
SELECT rowid, CAST(message_id AS BLOB), CAST(in_time AS BLOB) FROM {table} ORDER BY rowid LIMIT 1
"""
SOURCE_TAKEN = "SELECT rowid, CAST(message_id AS BLOB) FROM {table} WHERE rowid <= ? ORDER BY rowid"
SOURCE_ROWS = """
SELECT rowid, CAST(message_id AS BLOB), CAST({topic} AS BLOB), typeof(data), CAST(data AS BLOB),
    CASE typeof(status) WHEN 'integer' THEN status END,
    CASE typeof({priority}) WHEN 'integer' THEN {priority} END,
    CASE typeof(in_time) WHEN 'integer' THEN in_time END,
    CASE typeof(done_time) WHEN 'integer' THEN done_time END
FROM {table} NOT INDEXED WHERE ?1 IS NULL OR rowid > ?1 ORDER BY rowid
"""
SOURCE_TOPICS = """
SELECT CAST(topic AS BLOB), count(*) FROM {table} NOT INDEXED WHERE topic IS NOT NULL GROUP BY 1 ORDER BY 1
"""
LIKE = "SELECT ? LIKE ?"

# -- the queue

IMPORTED_TABLE = """
CREATE TABLE IF NOT EXISTS imported (
    source TEXT PRIMARY KEY,
    file TEXT NOT NULL,
    position INTEGER NOT NULL,
    fingerprint INTEGER NOT NULL,
    tally TEXT NOT NULL
)
"""
IMPORTED_FIND = "SELECT source, position, fingerprint, tally FROM imported WHERE source = ?1 OR file = ?2"
IMPORTED_WRITE = "INSERT OR REPLACE INTO imported (source, file, position, fingerprint, tally) VALUES (?, ?, ?, ?, ?)"


def named(statement: str, table: str, topic: str | None = None, priority: str | None = None) -> str:
    """The statement with the names of the table and of its columns; a column that there is not is NULL."""
    for place, name in (("{table}", table), ("{topic}", topic), ("{priority}", priority)):
        statement = statement.replace(place, "NULL" if name is None else quoted(name))
    return statement


def quoted(name: str) -> str:
    """A name as SQL writes it, whatever it holds.

    >>> quoted('the "main" queue')
    '"the ""main"" queue"'
    """
    return '"' + name.replace('"', '""') + '"'
