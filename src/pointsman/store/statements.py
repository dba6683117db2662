"""Every statement that the queue sends, as static text with parameters.

A test asserts which index each of them uses. Names begin with what they concern; parameters are numbered where one is
used twice. Those that go over a table are in the sections that say so, or have ``CLEAR`` (the end of a subscription)
or ``FORGET`` (prune) in their names.
"""

from __future__ import annotations

# -- connection and transactions

PRAGMAS = """
PRAGMA journal_mode = WAL;
PRAGMA trusted_schema = OFF;
PRAGMA cell_size_check = ON;
PRAGMA temp_store = MEMORY;
PRAGMA wal_autocheckpoint = 4000;
"""
SYNCHRONOUS_FULL = "PRAGMA synchronous = FULL"
SYNCHRONOUS_NORMAL = "PRAGMA synchronous = NORMAL"
BEGIN = "BEGIN IMMEDIATE"
BEGIN_READ = "BEGIN DEFERRED"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"
SAVE = "SAVEPOINT one"
RELEASE = "RELEASE one"
UNDO = "ROLLBACK TO one"
CONTROL_LOCK = "UPDATE control SET commits = commits WHERE one = 1"
ANY_TABLE = "SELECT 1 FROM sqlite_schema LIMIT 1"

# -- control

CONTROL_NEW = "INSERT INTO control VALUES (1, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0)"
CONTROL_FILE = "SELECT file, dialect FROM control"
CONTROL_READ = """
SELECT c.commits + coalesce(max(m.sequence - c.sequence, 0), 0), max(c.sequence, coalesce(m.sequence, 0)),
    max(c.time, min(coalesce(m.time, 0), c.time + 60000000)), c.shift,
    c.unfinished + coalesce(max(m.sequence - c.sequence, 0), 0), c.subscriptions, c.keys, c.returned, c.sequence
FROM control AS c LEFT JOIN message AS m ON m.sequence = (SELECT max(sequence) FROM message) WHERE c.one = 1
"""
"""The row, and what was put since by the quick way, which writes messages only: one a commit, for a minute at most.

The last column is the number up to which the deliveries of messages are listed.
"""
CONTROL_WRITE = """
UPDATE control SET commits = ?, sequence = ?, time = ?, shift = ?, unfinished = ?, subscriptions = ?, keys = ?,
    returned = ? WHERE one = 1
"""

# -- keys

KEY_FIND = "SELECT id FROM key WHERE text = ?"
KEY_ADD = "INSERT INTO key (text) VALUES (?) RETURNING id"
KEY_KNOW = "INSERT INTO key (text) VALUES (?) ON CONFLICT (text) DO UPDATE SET text = excluded.text RETURNING id"
KEYS_AFTER = "SELECT id, text FROM key WHERE id > ? ORDER BY id LIMIT ?"
KEYS_IN_RANGE = "SELECT id, text FROM key WHERE text >= ? AND text < ? ORDER BY text LIMIT ?"
KEY_LAST = "SELECT max(id) FROM key"
KEY_DELETE = "DELETE FROM key WHERE id = ?"

# -- messages

MESSAGE_ADD = """
INSERT INTO message (sequence, key, priority, time, checksum, expires, id, metadata, envelope, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
MESSAGE_ADD_PLAIN = """
INSERT INTO message (sequence, key, priority, time, checksum, body) VALUES (?, ?, 5, ?, ?, ?)
"""
MESSAGE_BY_ID = "SELECT sequence, time FROM message WHERE id = ? ORDER BY sequence DESC LIMIT 1"
MESSAGE_HAS_ID = "SELECT 1 FROM message WHERE sequence = ? AND id IS NOT NULL"
MESSAGE_READ = """
SELECT m.sequence, k.text, m.body, m.priority, m.time, m.expires, m.metadata, m.envelope, m.checksum, m.id, 0, 0, NULL,
    NULL
FROM message AS m LEFT JOIN key AS k ON k.id = m.key WHERE m.sequence = ?
"""
MESSAGES_AFTER = """
SELECT m.sequence, k.text, m.body, m.priority, m.time, m.expires, m.metadata, m.envelope, m.checksum, m.id, 0, 0, NULL,
    NULL
FROM message AS m LEFT JOIN key AS k ON k.id = m.key WHERE m.sequence > ? ORDER BY m.sequence LIMIT ?
"""
MESSAGE_KEYS_AFTER = """
SELECT m.sequence, m.key, m.priority, k.text FROM message AS m JOIN key AS k ON k.id = m.key
WHERE m.sequence > ? AND m.sequence <= ? ORDER BY m.sequence LIMIT ?
"""
MESSAGE_KEYS = "SELECT sequence, key FROM message WHERE sequence > ? ORDER BY sequence LIMIT ?"
MESSAGE_FIRST = "SELECT min(sequence) FROM message"
MESSAGE_AT_TIME = "SELECT coalesce(min(sequence), 0) FROM message WHERE time >= ?"
MESSAGE_DELETE = "DELETE FROM message WHERE sequence = ?"
ADDRESSED_SET = "INSERT OR REPLACE INTO addressed (sequence, targets) VALUES (?, ?)"
ADDRESSED_FIND = "SELECT targets FROM addressed WHERE sequence = ?"
ADDRESSED_DELETE = "DELETE FROM addressed WHERE sequence = ?"
SEEN_FIND = "SELECT 1 FROM seen WHERE id = ? AND time > ?"
SEEN_ADD = "INSERT OR REPLACE INTO seen SELECT id, time FROM message WHERE sequence = ? AND id IS NOT NULL AND time > ?"
SEEN_FORGET = "DELETE FROM seen WHERE time <= ?"

# -- ready

READY_ADD = """
INSERT INTO ready (subscription, priority, sequence, via, key, attempts, note, error) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
READY_ADD_MAIN = """
INSERT INTO ready (subscription, priority, sequence, via, key, attempts) VALUES (0, 5, ?, 0, ?, 0)
"""
READY_ADD_NEW = """
INSERT OR IGNORE INTO ready (subscription, priority, sequence, via, key, attempts)
SELECT 0, priority, sequence, 0, key, 0 FROM message WHERE sequence > (SELECT sequence FROM control WHERE one = 1)
"""
READY_FIRST = """
SELECT r.sequence, k.text, m.body, r.priority, m.time, m.expires, m.metadata, m.envelope, m.checksum, m.id, r.via,
    r.attempts + 1, r.note, r.error
FROM ready AS r LEFT JOIN message AS m ON m.sequence = r.sequence LEFT JOIN key AS k ON k.id = r.key
WHERE r.subscription = ? ORDER BY r.priority, r.sequence, r.via LIMIT ?
"""
READY_UNLISTED = """
SELECT m.sequence, k.text, m.body, m.priority, m.time, m.expires, m.metadata, m.envelope, m.checksum, m.id, 0, 1, NULL,
    NULL
FROM message AS m LEFT JOIN key AS k ON k.id = m.key WHERE m.sequence > (SELECT sequence FROM control WHERE one = 1)
"""
"""A thousand at most (see ``quick.py``)."""
READY_ONE = """
SELECT r.sequence, k.text, m.body, r.priority, m.time, m.expires, m.metadata, m.envelope, m.checksum, m.id, r.via,
    r.attempts + 1, r.note, r.error
FROM ready AS r LEFT JOIN message AS m ON m.sequence = r.sequence LEFT JOIN key AS k ON k.id = r.key
WHERE r.subscription = ? AND r.priority = ? AND r.sequence = ?
"""
READY_PLACES = """
SELECT subscription, priority, sequence, via FROM ready WHERE subscription = ? ORDER BY priority, sequence, via LIMIT ?
"""
READY_FORGET_TEXTS = """
UPDATE ready SET note = NULL, error = NULL WHERE subscription = ? AND priority = ? AND sequence = ? AND via = ?
"""
READY_DELETE_FIRST = """
DELETE FROM ready WHERE subscription = ?1 AND (priority, sequence, via) <= (?2, ?3, ?4)
"""
READY_LEASE_FIRST = """
INSERT INTO leased (until, subscription, sequence, via, token, priority, key, attempts, note, error)
SELECT ?2, subscription, sequence, via, ?3, priority, key, attempts + 1, note, error FROM ready
WHERE subscription = ?1 ORDER BY priority, sequence, via LIMIT ?4
"""
READY_TAKE = """
DELETE FROM ready WHERE subscription = ? AND priority = ? AND sequence = ? AND via = ?
RETURNING key, attempts, note, error
"""
READY_DELETE = "DELETE FROM ready WHERE subscription = ? AND priority = ? AND sequence = ? AND via = ?"
READY_BY_KEY = (
    "SELECT priority, sequence FROM ready WHERE subscription = 0 AND key = ? ORDER BY priority, sequence LIMIT ?"
)
READY_SCAN = """
SELECT sequence, key FROM ready WHERE subscription = 0 AND priority = ? AND sequence > ? ORDER BY sequence
"""
READY_CLEAR = """
DELETE FROM ready WHERE (subscription, priority, sequence, via) IN
    (SELECT subscription, priority, sequence, via FROM ready WHERE subscription = ? LIMIT ?)
RETURNING sequence
"""

# -- leased

LEASED_DUE = """
SELECT until, subscription, sequence, via, priority, key, attempts, note, error FROM leased WHERE until <= ?
ORDER BY until LIMIT ?
"""
LEASED_TAKE = """
DELETE FROM leased WHERE until = ? AND subscription = ? AND sequence = ? AND via = ? AND token = ?
RETURNING priority, key, attempts, note, error
"""
LEASED_END = "DELETE FROM leased WHERE until = ? AND subscription = ? AND sequence = ? AND via = ? AND token = ?"
LEASED_TAKE_MANY = """
DELETE FROM leased WHERE until = ?1 AND subscription = ?2 AND token = ?3
    AND sequence IN (SELECT value FROM json_each(?4)) AND via = 0 RETURNING sequence
"""
LEASED_DELETE = "DELETE FROM leased WHERE until = ? AND subscription = ? AND sequence = ? AND via = ?"
LEASED_ADD = """
INSERT INTO leased (until, subscription, sequence, via, token, priority, key, attempts, note, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
LEASED_CLEAR = """
DELETE FROM leased WHERE (until, subscription, sequence, via) IN
    (SELECT until, subscription, sequence, via FROM leased WHERE subscription = ? LIMIT ?)
RETURNING sequence
"""

DUE_NEXT = "SELECT (SELECT min(until) FROM leased), (SELECT min(due) FROM delayed)"

# -- one message at a time (see quick.py)

QUICK_PUT = """
INSERT INTO message (sequence, key, priority, time, checksum, expires, id, metadata, envelope, body)
SELECT ?2, CASE WHEN commits = ?1 AND ?5 BETWEEN time AND time + 60000000 THEN ?3 END, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11
FROM control WHERE one = 1
"""
"""Without a key, which each message must have, if somebody else has written: then it fails."""
QUICK_FIRST = """
SELECT r.sequence, k.text, m.body, r.priority, m.time, m.expires, m.metadata, m.envelope, m.checksum, m.id, r.via,
    r.attempts + 1, r.note, r.error, r.key
FROM control AS c LEFT JOIN message AS n ON n.sequence = (SELECT max(sequence) FROM message)
JOIN ready AS r LEFT JOIN message AS m ON m.sequence = r.sequence LEFT JOIN key AS k ON k.id = r.key
WHERE c.one = 1 AND c.shift = ?1 AND c.subscriptions = ?2 AND c.sequence >= coalesce(n.sequence, 0)
    AND c.time <= ?3 AND (c.time >= ?3 - 1000000 OR n.time BETWEEN ?3 - 1000000 AND ?3)
    AND NOT EXISTS (SELECT 1 FROM leased WHERE until <= ?3) AND NOT EXISTS (SELECT 1 FROM delayed WHERE due <= ?3)
    AND r.subscription = ?4
ORDER BY r.priority, r.sequence, r.via LIMIT 1
"""
"""As ``READY_FIRST``, if nothing is to be done before: all are listed, nothing is due, and the time was written."""
QUICK_DONE = """
UPDATE control SET commits = commits + 1, time = ?1, unfinished = unfinished - 1
WHERE one = 1 AND shift = ?2 AND time <= ?1 AND NOT EXISTS (SELECT 1 FROM pending WHERE sequence = ?3)
RETURNING commits, sequence, unfinished, subscriptions, keys, (SELECT max(sequence) FROM message)
"""
QUICK_LISTED = """
UPDATE control SET (commits, sequence, time, unfinished) = (
    SELECT control.commits + m.sequence - control.sequence, m.sequence,
        max(control.time, min(m.time, control.time + 60000000)), control.unfinished + m.sequence - control.sequence
    FROM message AS m WHERE m.sequence = (SELECT max(sequence) FROM message)
) WHERE one = 1 RETURNING commits, unfinished
"""
COUNT_UNLISTED = "SELECT count(*) FROM message WHERE sequence > (SELECT sequence FROM control WHERE one = 1)"

# -- delayed

DELAYED_ADD = """
INSERT INTO delayed (due, subscription, sequence, via, priority, key, attempts, note, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
DELAYED_DUE = """
SELECT due, subscription, sequence, via, priority, key, attempts, note, error FROM delayed WHERE due <= ?
ORDER BY due LIMIT ?
"""
DELAYED_DELETE = "DELETE FROM delayed WHERE due = ? AND subscription = ? AND sequence = ? AND via = ?"
DELAYED_TAKE = """
DELETE FROM delayed WHERE due = ? AND subscription = ? AND sequence = ? AND via = ?
RETURNING priority, key, attempts, note, error
"""
DELAYED_CLEAR = """
DELETE FROM delayed WHERE (due, subscription, sequence, via) IN
    (SELECT due, subscription, sequence, via FROM delayed WHERE subscription = ? LIMIT ?)
RETURNING sequence
"""

# -- dead

DEAD_ADD = """
INSERT OR REPLACE INTO dead (sequence, subscription, via, priority, key, attempts, note, error, reason, time)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
DEAD_PAGE = """
SELECT d.sequence, d.subscription, d.via, s.name, v.name, d.attempts, d.reason, d.error, d.time
FROM dead AS d LEFT JOIN subscription AS s ON s.id = d.subscription LEFT JOIN via AS v ON v.id = d.via
WHERE d.sequence > ?1 AND (?2 IS NULL OR d.subscription = ?2) ORDER BY d.sequence, d.subscription, d.via LIMIT ?3
"""
DEAD_OF = "SELECT subscription, via FROM dead WHERE sequence = ?"
DEAD_TAKE = """
DELETE FROM dead WHERE sequence = ? AND subscription = ? AND via = ? RETURNING priority, key, attempts, note, error
"""

DEAD_CLEAR = """
DELETE FROM dead WHERE (sequence, subscription, via) IN
    (SELECT sequence, subscription, via FROM dead WHERE subscription = ? LIMIT ?)
RETURNING sequence
"""

# -- pending and finished

PENDING_ADD = "INSERT INTO pending (sequence, open) VALUES (?, ?)"
PENDING_CHANGE = "UPDATE pending SET open = open + ?2 WHERE sequence = ?1 RETURNING open"
PENDING_LESS_MANY = """
UPDATE pending SET open = open - 1 WHERE sequence IN (SELECT value FROM json_each(?1)) RETURNING sequence, open
"""
PENDING_FIND = "SELECT open FROM pending WHERE sequence = ?"
PENDING_SET = "INSERT OR REPLACE INTO pending (sequence, open) VALUES (?, ?)"
PENDING_DELETE = "DELETE FROM pending WHERE sequence = ?"
DEAD_ANY = "SELECT 1 FROM dead WHERE sequence = ? LIMIT 1"
FINISHED_ADD = "INSERT OR REPLACE INTO finished (sequence, time, archived) VALUES (?, ?, ?)"
FINISHED_FIND = "SELECT time, archived FROM finished WHERE sequence = ?"
FINISHED_DELETE = "DELETE FROM finished WHERE sequence = ?"
FINISHED_OLD = """
SELECT sequence FROM finished WHERE sequence > ?1 AND archived = 0 AND time <= ?2 ORDER BY sequence LIMIT ?3
"""
FINISHED_AFTER = "SELECT sequence, time FROM finished WHERE sequence > ? AND archived = 0 ORDER BY sequence LIMIT ?"
FINISHED_ARCHIVE = "UPDATE finished SET archived = 1 WHERE sequence = ?"

# -- subscriptions and routes

SUBSCRIPTION_ADD = """
INSERT INTO subscription (id, name, pattern, dialect, lease, attempts, owner, version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?1)
"""
"""The number is the version: it is never given twice, though those that ended are deleted."""
SUBSCRIPTION_MAIN = "INSERT INTO subscription (id, name, pattern, dialect, version) VALUES (0, '', NULL, ?, 0)"
SUBSCRIPTION_BY_NAME = "SELECT id, pattern, dialect FROM subscription WHERE name = ?"
SUBSCRIPTIONS_SINCE = """
SELECT id, name, pattern, dialect, lease, attempts, owner FROM subscription WHERE version > ? ORDER BY version
"""
SUBSCRIPTION_COUNT = "SELECT count(*) FROM subscription"
SUBSCRIPTION_IDS = "SELECT id FROM subscription"
SUBSCRIPTION_CHANGE = "UPDATE subscription SET lease = ?, attempts = ?, owner = ?, version = ? WHERE id = ?"
SUBSCRIPTION_END = "DELETE FROM subscription WHERE id = ?"
VIA_FIND = "SELECT id FROM via WHERE name = ?"
VIA_ADD = "INSERT INTO via (name) VALUES (?) RETURNING id"
VIA_NAME = "SELECT name FROM via WHERE id = ?"

# -- state

STATE_READ = "SELECT value FROM state WHERE kind = ? AND name = ? AND correlation_id = ?"
STATE_WRITE = "INSERT OR REPLACE INTO state (kind, name, correlation_id, value, due) VALUES (?, ?, ?, ?, ?)"
STATE_DELETE = "DELETE FROM state WHERE kind = ? AND name = ? AND correlation_id = ?"
STATE_DUE = "SELECT kind, name, correlation_id, value FROM state WHERE due <= ? ORDER BY due LIMIT ?"
STATE_NEXT = "SELECT min(due) FROM state WHERE due IS NOT NULL"
STATE_PAGE = """
SELECT kind, name, correlation_id, value, due FROM state WHERE (kind, name, correlation_id) > (?, ?, ?)
ORDER BY kind, name, correlation_id LIMIT ?
"""

# -- counting; these go over what they count

COUNT_READY = """
SELECT (SELECT count(*) FROM ready WHERE ?1 IS NULL OR subscription = ?1)
    + (SELECT count(*) FROM message
        WHERE (?1 IS NULL OR ?1 = 0) AND sequence > (SELECT sequence FROM control WHERE one = 1))
"""
COUNT_DELAYED = "SELECT count(*) FROM delayed WHERE ?1 IS NULL OR subscription = ?1"
COUNT_LEASED = "SELECT count(*) FROM leased WHERE ?1 IS NULL OR subscription = ?1"
COUNT_DEAD = "SELECT count(*) FROM dead WHERE ?1 IS NULL OR subscription = ?1"
COUNT_EACH = """
SELECT 0, subscription, count(*) FROM ready GROUP BY subscription
UNION ALL SELECT 0, 0, count(*) FROM message WHERE sequence > (SELECT sequence FROM control WHERE one = 1)
UNION ALL SELECT 1, subscription, count(*) FROM delayed GROUP BY subscription
UNION ALL SELECT 2, subscription, count(*) FROM leased GROUP BY subscription
UNION ALL SELECT 3, subscription, count(*) FROM dead GROUP BY subscription
"""
COUNT_MESSAGES = "SELECT count(*) FROM message"
COUNT_FINISHED = "SELECT count(*) FILTER (WHERE archived = 0), count(*) FILTER (WHERE archived = 1) FROM finished"

# -- where a message stands; these go over the deliveries of one message or one subscription

READY_OF = """
SELECT r.subscription, r.priority, r.via FROM subscription AS s CROSS JOIN ready AS r
ON r.subscription = s.id AND r.priority = ?1 AND r.sequence = ?2
"""
LEASED_OF = "SELECT until, subscription, via, token FROM leased WHERE sequence = ?"
DELAYED_OF = "SELECT due, subscription, via FROM delayed WHERE sequence = ?"

# -- emptying

PURGE = (
    "DELETE FROM ready",
    "DELETE FROM leased",
    "DELETE FROM delayed",
    "DELETE FROM dead",
    "DELETE FROM pending",
    "DELETE FROM finished",
    "DELETE FROM seen",
    "DELETE FROM addressed",
    "DELETE FROM message",
    "DELETE FROM key",
    "DELETE FROM state",
)
VACUUM = "VACUUM"
CHECKPOINT = "PRAGMA wal_checkpoint(TRUNCATE)"
