"""The statements that the doctor sends, besides those of the queue; static text with parameters."""

from __future__ import annotations

SCHEMA = "SELECT name, sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name"
INTEGRITY = "PRAGMA integrity_check(100)"
REINDEX = "REINDEX"
PAGE_SIZE = "PRAGMA page_size"

MESSAGES = """
SELECT m.sequence, k.text, m.body, m.priority, m.time, m.expires, m.metadata, m.envelope, m.checksum, m.id, 0, 0, NULL,
    NULL, m.key
FROM message AS m LEFT JOIN key AS k ON k.id = m.key WHERE m.sequence BETWEEN ? AND ? ORDER BY m.sequence LIMIT ?
"""
CONTROL_ALONE = """
SELECT commits, sequence, time, shift, unfinished, subscriptions, keys, returned, sequence FROM control
"""
COUNT = "SELECT count(*) FROM message"
FINISHED = "SELECT sequence, time FROM finished WHERE sequence > ? ORDER BY sequence"
PENDING = "SELECT sequence, open FROM pending WHERE sequence > ? ORDER BY sequence"
DELIVERIES = """
SELECT sequence, subscription, via, 'ready', priority, key, attempts, 0 FROM ready WHERE sequence > ?1
UNION ALL
SELECT sequence, subscription, via, 'leased', priority, key, attempts, until FROM leased WHERE sequence > ?1
UNION ALL
SELECT sequence, subscription, via, 'delayed', priority, key, attempts, due FROM delayed WHERE sequence > ?1
UNION ALL
SELECT sequence, subscription, via, 'dead', priority, key, attempts, time FROM dead WHERE sequence > ?1
ORDER BY 1, 2, 3
"""
OPEN_MESSAGES = """
SELECT count(*) FROM (SELECT sequence FROM ready UNION SELECT sequence FROM leased UNION SELECT sequence FROM delayed)
"""
SUBSCRIPTIONS = """
SELECT id, CAST(name AS BLOB), CAST(pattern AS BLOB), CAST(dialect AS BLOB), version, gone FROM subscription ORDER BY id
"""
SUBSCRIPTION_WITHOUT_PATTERN = """
UPDATE subscription SET name = ?2, pattern = NULL, dialect = ?3, version = ?4 WHERE id = ?1
"""
LAST_VERSION = "SELECT coalesce(max(version), 0) FROM subscription"
VIAS = "SELECT id FROM via"
KEYS = "SELECT id, CAST(text AS BLOB) FROM key ORDER BY id"
KEYS_TWICE = """
SELECT min(id), count(*) - 1, CAST(text AS BLOB) FROM key NOT INDEXED GROUP BY CAST(text AS BLOB) HAVING count(*) > 1
"""
KEY_WRITE = "UPDATE key SET text = ?2 WHERE id = ?1"
KEY_OTHERS = "SELECT id FROM key NOT INDEXED WHERE CAST(text AS BLOB) = ? AND id <> ?"
KEY_REPLACE = (
    "UPDATE message SET key = ?1 WHERE key = ?2",
    "UPDATE ready SET key = ?1 WHERE key = ?2",
    "UPDATE leased SET key = ?1 WHERE key = ?2",
    "UPDATE delayed SET key = ?1 WHERE key = ?2",
    "UPDATE dead SET key = ?1 WHERE key = ?2",
    "DELETE FROM key WHERE id = ?2 AND id <> ?1",
)
STATES = """
SELECT CAST(kind AS BLOB), CAST(name AS BLOB), CAST(correlation_id AS BLOB), CAST(value AS BLOB) FROM state
"""
STATE_ASIDE = """
UPDATE state SET kind = ?4, due = NULL
WHERE CAST(kind AS BLOB) = ?1 AND CAST(name AS BLOB) = ?2 AND CAST(correlation_id AS BLOB) = ?3
"""
TEXTS = """
SELECT sequence, subscription, via, 'ready', CAST(note AS BLOB), CAST(error AS BLOB), NULL FROM ready
WHERE note IS NOT NULL OR error IS NOT NULL
UNION ALL
SELECT sequence, subscription, via, 'leased', CAST(note AS BLOB), CAST(error AS BLOB), NULL FROM leased
WHERE note IS NOT NULL OR error IS NOT NULL
UNION ALL
SELECT sequence, subscription, via, 'delayed', CAST(note AS BLOB), CAST(error AS BLOB), NULL FROM delayed
WHERE note IS NOT NULL OR error IS NOT NULL
UNION ALL
SELECT sequence, subscription, via, 'dead', CAST(note AS BLOB), CAST(error AS BLOB), CAST(reason AS BLOB) FROM dead
"""
TEXTS_REMOVE = {
    "ready": "UPDATE ready SET note = NULL, error = NULL WHERE sequence = ? AND subscription = ? AND via = ?",
    "leased": "UPDATE leased SET note = NULL, error = NULL WHERE sequence = ? AND subscription = ? AND via = ?",
    "delayed": "UPDATE delayed SET note = NULL, error = NULL WHERE sequence = ? AND subscription = ? AND via = ?",
    "dead": """
UPDATE dead SET note = NULL, error = NULL, reason = 'the reason is damaged'
WHERE sequence = ? AND subscription = ? AND via = ?
""",
}
TAKE_OUT = {
    "ready": "DELETE FROM ready WHERE sequence = ? AND subscription = ? AND via = ? AND priority = ?",
    "leased": "DELETE FROM leased WHERE sequence = ? AND subscription = ? AND via = ? AND until = ?",
    "delayed": "DELETE FROM delayed WHERE sequence = ? AND subscription = ? AND via = ? AND due = ?",
    "dead": "DELETE FROM dead WHERE sequence = ? AND subscription = ? AND via = ? AND time = ?",
}
TEXTS_OF = {
    "ready": "SELECT note, error FROM ready WHERE sequence = ? AND subscription = ? AND via = ? AND priority = ?",
    "leased": "SELECT note, error FROM leased WHERE sequence = ? AND subscription = ? AND via = ? AND until = ?",
    "delayed": "SELECT note, error FROM delayed WHERE sequence = ? AND subscription = ? AND via = ? AND due = ?",
    "dead": "SELECT note, error FROM dead WHERE sequence = ? AND subscription = ? AND via = ? AND time = ?",
}
READY_PUT = """
INSERT OR REPLACE INTO ready (subscription, priority, sequence, via, key, attempts, note, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
LIKE_MESSAGE = {
    "ready": "UPDATE OR REPLACE ready SET key = ?, priority = ? WHERE sequence = ? AND subscription = ? AND via = ?",
    "leased": "UPDATE leased SET key = ?, priority = ? WHERE sequence = ? AND subscription = ? AND via = ?",
    "delayed": "UPDATE delayed SET key = ?, priority = ? WHERE sequence = ? AND subscription = ? AND via = ?",
    "dead": "UPDATE dead SET key = ?, priority = ? WHERE sequence = ? AND subscription = ? AND via = ?",
}

# -- from another file, which is attached as source

UNSYNCED = "PRAGMA synchronous = OFF"
"""For a file that is new: if the power fails, it is made again."""
ATTACH = "ATTACH ? AS source"
COPY_MESSAGES = """
INSERT OR REPLACE INTO main.message SELECT * FROM source.message WHERE sequence BETWEEN ? AND ?
ORDER BY sequence LIMIT ? RETURNING sequence
"""
COPY_KEYS = """
INSERT OR REPLACE INTO main.key SELECT * FROM source.key NOT INDEXED WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ?
RETURNING id
"""
COPY_ROWS = (
    """
    INSERT OR IGNORE INTO main.subscription SELECT * FROM source.subscription NOT INDEXED
    WHERE ?1 IS NOT NULL AND gone = 0
    """,
    "INSERT OR IGNORE INTO main.via SELECT * FROM source.via NOT INDEXED WHERE ?1 IS NOT NULL",
    "INSERT OR IGNORE INTO main.pending SELECT * FROM source.pending WHERE sequence > ?",
    "INSERT OR IGNORE INTO main.finished SELECT * FROM source.finished WHERE sequence > ?",
    "INSERT OR IGNORE INTO main.addressed SELECT * FROM source.addressed WHERE sequence > ?",
)
COPY_STATE = (
    "INSERT OR IGNORE INTO main.seen SELECT * FROM source.seen",
    "INSERT OR IGNORE INTO main.state SELECT * FROM source.state",
)
COPY_WILDCARDS = (
    "INSERT INTO main.wildcard_subscription SELECT * FROM source.wildcard_subscription",
    "INSERT INTO main.wildcard_matcher SELECT * FROM source.wildcard_matcher",
    "INSERT INTO main.wildcard_pattern SELECT * FROM source.wildcard_pattern",
    "INSERT INTO main.wildcard_use SELECT * FROM source.wildcard_use",
    "INSERT INTO main.wildcard_gone SELECT * FROM source.wildcard_gone",
    """
    INSERT OR REPLACE INTO main.wildcard_control
        (one, version, subscriptions, last_subscription, last_matcher, last_pattern, gone)
    SELECT one, version, subscriptions, last_subscription, last_matcher, last_pattern,
        (SELECT count(*) FROM main.wildcard_gone)
    FROM source.wildcard_control
    """,
)
COPY_DELIVERIES = {
    "ready": "INSERT OR IGNORE INTO main.ready SELECT * FROM source.ready WHERE sequence > ?",
    "leased": "INSERT OR IGNORE INTO main.leased SELECT * FROM source.leased WHERE sequence > ?",
    "delayed": "INSERT OR IGNORE INTO main.delayed SELECT * FROM source.delayed WHERE sequence > ?",
    "dead": "INSERT OR IGNORE INTO main.dead SELECT * FROM source.dead WHERE sequence > ?",
}
COPY_UNLISTED = """
INSERT OR IGNORE INTO main.ready (subscription, priority, sequence, via, key, attempts)
SELECT 0, priority, sequence, 0, key, 0 FROM main.message WHERE sequence > (SELECT sequence FROM source.control)
"""
"""Of the messages whose deliveries nobody had listed yet."""
PLACES = {
    "ready": (
        "SELECT subscription, priority, sequence, via FROM source.ready ORDER BY 1, 2, 3, 4",
        "SELECT subscription, priority, sequence, via FROM source.ready ORDER BY 1 DESC, 2 DESC, 3 DESC, 4 DESC",
    ),
    "leased": (
        "SELECT until, subscription, sequence, via FROM source.leased ORDER BY 1, 2, 3, 4",
        "SELECT until, subscription, sequence, via FROM source.leased ORDER BY 1 DESC, 2 DESC, 3 DESC, 4 DESC",
    ),
    "delayed": (
        "SELECT due, subscription, sequence, via FROM source.delayed ORDER BY 1, 2, 3, 4",
        "SELECT due, subscription, sequence, via FROM source.delayed ORDER BY 1 DESC, 2 DESC, 3 DESC, 4 DESC",
    ),
    "dead": (
        "SELECT sequence, subscription, via FROM source.dead ORDER BY 1, 2, 3",
        "SELECT sequence, subscription, via FROM source.dead ORDER BY 1 DESC, 2 DESC, 3 DESC",
    ),
}
COPY_PLACE = {
    "ready": """
INSERT OR IGNORE INTO main.ready SELECT * FROM source.ready
WHERE subscription = ? AND priority = ? AND sequence = ? AND via = ?
""",
    "leased": """
INSERT OR IGNORE INTO main.leased SELECT * FROM source.leased
WHERE until = ? AND subscription = ? AND sequence = ? AND via = ?
""",
    "delayed": """
INSERT OR IGNORE INTO main.delayed SELECT * FROM source.delayed
WHERE due = ? AND subscription = ? AND sequence = ? AND via = ?
""",
    "dead": """
INSERT OR IGNORE INTO main.dead SELECT * FROM source.dead WHERE sequence = ? AND subscription = ? AND via = ?
""",
}
GAPS = """
SELECT before + 1, sequence - 1 FROM (
    SELECT sequence, lag(sequence, 1, 0) OVER (ORDER BY sequence) AS before FROM main.message
    UNION ALL SELECT ?1 + 1, coalesce(max(sequence), 0) FROM main.message
) WHERE sequence > before + 1 ORDER BY 1
"""
SOURCE_HIGHEST = "SELECT max(sequence) FROM source.message"
SOURCE_LAST_KEY = "SELECT max(id) FROM source.key NOT INDEXED"
AFTER_COPY = """
UPDATE control SET sequence = max(sequence, ?1, (SELECT coalesce(max(sequence), 0) FROM message)),
    commits = commits + 1, subscriptions = max(subscriptions, (SELECT coalesce(max(version), 0) FROM subscription)) + 1,
    keys = keys + 1, returned = returned + 1
"""
CONTROL_TAKE_OVER = "UPDATE control SET file = ?, time = ?, shift = ?"
