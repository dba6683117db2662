"""Every statement that the source sends besides the queue's own, as static text with parameters.

Texts come as bytes, so that a damaged one can be told and does not stop the rest.
"""

from __future__ import annotations

# -- reading

BOUNDS = "SELECT coalesce((SELECT min(sequence) FROM message), 1), coalesce((SELECT max(sequence) FROM message), 0)"

MESSAGES = """
SELECT m.sequence, 0, 0, cast(m.id AS BLOB), cast(k.text AS BLOB), cast(m.body AS BLOB), typeof(m.body), m.priority,
    m.time, m.expires, cast(m.metadata AS BLOB), cast(m.envelope AS BLOB), m.checksum, 0
FROM message AS m LEFT JOIN key AS k ON k.id = m.key
WHERE m.sequence > ?1 AND m.sequence <= ?2 ORDER BY m.sequence
"""
READY = """
SELECT r.sequence, r.via, 0, cast(m.id AS BLOB), cast(k.text AS BLOB), cast(m.body AS BLOB), typeof(m.body),
    m.priority, m.time, m.expires, cast(m.metadata AS BLOB), cast(m.envelope AS BLOB), m.checksum, r.attempts
FROM ready AS r LEFT JOIN message AS m ON m.sequence = r.sequence LEFT JOIN key AS k ON k.id = r.key
WHERE r.subscription = ?1 AND r.priority = ?2 AND (r.sequence, r.via) > (?3, ?4) AND r.sequence <= ?5
ORDER BY r.sequence, r.via
"""
TAKEN = """
SELECT l.sequence, l.via, l.until, cast(m.id AS BLOB), cast(k.text AS BLOB), cast(m.body AS BLOB), typeof(m.body),
    m.priority, m.time, m.expires, cast(m.metadata AS BLOB), cast(m.envelope AS BLOB), m.checksum, l.attempts
FROM leased AS l LEFT JOIN message AS m ON m.sequence = l.sequence LEFT JOIN key AS k ON k.id = l.key
WHERE l.until > ?1 AND l.until <= ?2 AND l.subscription = ?3 ORDER BY l.until
"""
SUBSCRIPTION = "SELECT id FROM subscription WHERE name = ? AND gone = 0"

# -- taking

READY_ANY = "SELECT 1 FROM ready WHERE subscription = ? LIMIT 1"
DELAYED_ANY = "SELECT 1 FROM delayed WHERE due <= ? LIMIT 1"
LEASED_ANY = "SELECT 1 FROM leased WHERE until <= ? LIMIT 1"
TAKE = """
INSERT INTO leased (until, subscription, sequence, via, token, priority, key, attempts, note, error)
SELECT ?1 + row_number() OVER (ORDER BY priority, sequence, via), subscription, sequence, via, 0, priority, key,
    attempts + 1, note, error
FROM (SELECT * FROM ready WHERE subscription = ?2 AND sequence <= ?3 ORDER BY priority, sequence, via LIMIT ?4)
"""
TAKEN_LAST = "SELECT max(until) FROM leased WHERE until > ?1 AND until <= ?2 AND subscription = ?3"
READY_DELETE = """
DELETE FROM ready WHERE (subscription, priority, sequence, via) IN
    (SELECT subscription, priority, sequence, via FROM leased WHERE until > ?1 AND until <= ?2 AND subscription = ?3)
"""
TAKEN_EXPIRED = """
SELECT l.until, l.sequence, l.via FROM leased AS l JOIN message AS m ON m.sequence = l.sequence
WHERE l.until > ?1 AND l.until <= ?2 AND l.subscription = ?3 AND m.expires <= ?4
"""
TAKEN_END = "DELETE FROM leased WHERE until > ?1 AND until <= ?2 AND subscription = ?3 RETURNING sequence, via"
TAKEN_BACK = """
DELETE FROM leased WHERE until > ?1 AND until <= ?2 AND subscription = ?3
RETURNING sequence, via, priority, key, attempts, note, error
"""
TAKEN_FORGET_TEXTS = """
UPDATE leased SET note = NULL, error = NULL WHERE until = ? AND subscription = ? AND sequence = ? AND via = ?
"""

# -- writing

UNFINISHED = "SELECT name FROM state WHERE kind = ? ORDER BY name"
