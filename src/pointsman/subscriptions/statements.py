"""Every statement about wildcard subscriptions, as static text with parameters; a test asserts how each is planned."""

from __future__ import annotations

CONTROL_READ = """
SELECT version, subscriptions, last_subscription, last_matcher, last_pattern, gone, recent
FROM wildcard_control WHERE one = 1
"""
CONTROL_WRITE = """
UPDATE wildcard_control SET version = ?, subscriptions = ?, last_subscription = ?, last_matcher = ?, last_pattern = ?,
    gone = ?, recent = ?
WHERE one = 1
"""

# -- subscriptions

SUBSCRIPTION_ADD = """
INSERT INTO wildcard_subscription
    (number, id, owner, pattern, condition, destinations, enabled, expires, description, created, version)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10)
"""
SUBSCRIPTION_CHANGE = """
UPDATE wildcard_subscription SET id = ?2, owner = ?3, pattern = ?4, condition = ?5, destinations = ?6, enabled = ?7,
    expires = ?8, description = ?9, version = ?10
WHERE number = ?1
"""
SUBSCRIPTION_DELETE = "DELETE FROM wildcard_subscription WHERE number = ?"
SUBSCRIPTION_FIND = "SELECT number, pattern, condition FROM wildcard_subscription WHERE id = ?"
SUBSCRIPTION_BY_ID = """
SELECT s.number, s.version, s.id, s.owner, s.destinations, p.text, p.dialect, s.condition, s.enabled, s.expires,
    s.description
FROM wildcard_subscription AS s LEFT JOIN wildcard_pattern AS p ON p.id = s.pattern WHERE s.id = ?
"""
SUBSCRIPTION_BY_NUMBER = """
SELECT s.number, s.version, s.id, s.owner, s.destinations, p.text, p.dialect, s.condition, s.enabled, s.expires,
    s.description
FROM wildcard_subscription AS s LEFT JOIN wildcard_pattern AS p ON p.id = s.pattern WHERE s.number = ?
"""
SUBSCRIPTIONS_AFTER = """
SELECT s.number, s.version, s.id, s.owner, s.destinations, p.text, p.dialect, s.condition, s.enabled, s.expires,
    s.description
FROM wildcard_subscription AS s LEFT JOIN wildcard_pattern AS p ON p.id = s.pattern
WHERE s.number > ? ORDER BY s.number LIMIT ?
"""
SUBSCRIPTIONS_OF_OWNER = """
SELECT s.number, s.version, s.id, s.owner, s.destinations, p.text, p.dialect, s.condition, s.enabled, s.expires,
    s.description
FROM wildcard_subscription AS s LEFT JOIN wildcard_pattern AS p ON p.id = s.pattern
WHERE s.owner = ? AND s.number > ? ORDER BY s.number LIMIT ?
"""
SUBSCRIPTIONS_OF_MATCHER = """
SELECT subscription FROM wildcard_use WHERE matcher = ?1 AND gate = 0 AND subscription > ?2
UNION ALL
SELECT subscription FROM wildcard_use WHERE matcher = ?1 AND gate = 1 AND subscription > ?2
ORDER BY subscription LIMIT ?3
"""
CHANGES_AFTER = """
SELECT version, iif(version = created, 'created', 'updated'), number, id FROM wildcard_subscription WHERE version > ?1
UNION ALL
SELECT version, iif(kind = 'subscription', 'deleted', kind), number, text FROM wildcard_gone
WHERE version > ?1 AND kind IN ('subscription', 'forgotten')
ORDER BY version LIMIT ?2
"""

# -- matchers

MATCHER_ANY = "SELECT 1 FROM wildcard_matcher LIMIT 1"
MATCHER_FIND = "SELECT id, uses FROM wildcard_matcher WHERE text = ? AND key = ? AND kind = ?"
MATCHER_ADD = "INSERT INTO wildcard_matcher (text, key, kind, id, uses) VALUES (?, ?, ?, ?, ?)"
MATCHERS_USE = """
UPDATE wildcard_matcher SET uses = uses + (value & 1048575) FROM carray(?) WHERE id = value >> 20
"""
"""The number of a matcher, and in the lower 20 bits how often it is used more."""
MATCHER_LEAVE = "UPDATE wildcard_matcher SET uses = uses - 1 WHERE id = ? RETURNING uses, text, key, kind"
MATCHER_DELETE = "DELETE FROM wildcard_matcher WHERE id = ?"
MATCHER_READ = "SELECT text, key, kind FROM wildcard_matcher WHERE id = ?"
MATCHERS_WRITTEN = """
SELECT CAST(m.id AS TEXT), iif(m.kind & 1, '{"pattern":', '{"key":' || json_quote(m.key) || ',"pattern":')
    || json_quote(m.text) || iif(m.kind & 2, ',"partial":true}', '}')
FROM carray(?) AS c CROSS JOIN wildcard_matcher AS m ON m.id = c.value WHERE m.kind < 4
"""
"""Those that are no number comparisons, as JSON; ``leaf_rows.py`` says what the kinds are."""
COMPARISONS_READ = """
SELECT m.id, m.text, m.key, m.kind FROM carray(?) AS c CROSS JOIN wildcard_matcher AS m ON m.id = c.value
WHERE m.kind >= 4
"""
MATCHERS_AFTER = "SELECT id, text, key, kind FROM wildcard_matcher WHERE id > ? ORDER BY id LIMIT ?"

# -- subject patterns

PATTERN_FIND = "SELECT id, uses FROM wildcard_pattern WHERE text = ? AND dialect = ?"
PATTERN_ADD = "INSERT INTO wildcard_pattern (text, dialect, id, uses) VALUES (?, ?, ?, 0)"
PATTERN_USE = "UPDATE wildcard_pattern SET uses = uses + ?2 WHERE id = ?1"
PATTERN_LEAVE = "UPDATE wildcard_pattern SET uses = uses - 1 WHERE id = ? RETURNING uses, text, dialect"
PATTERN_DELETE = "DELETE FROM wildcard_pattern WHERE id = ?"
PATTERNS_AFTER = "SELECT id, text, dialect FROM wildcard_pattern WHERE id > ? ORDER BY id LIMIT ?"

# -- uses

USES_ADD = """
INSERT OR FAIL INTO wildcard_use (matcher, gate, subscription)
SELECT value >> 21, value >> 20 & 1, ?2 + (value & 1048575) FROM carray(?1)
"""
"""The number of a matcher, in bit 20 whether it is a gate, and below how far from a first subscription this one is."""
USE_DELETE = "DELETE FROM wildcard_use WHERE matcher = ? AND gate IN (0, 1) AND subscription = ?"

# -- what is gone

GONE_ADD = "INSERT INTO wildcard_gone (version, kind, number, text) VALUES (?, ?, ?, ?)"
GONE_OLDEST = "SELECT version FROM wildcard_gone ORDER BY version LIMIT 1 OFFSET ?"
GONE_FORGET = "DELETE FROM wildcard_gone WHERE version < ?"
GONE_MARK = "UPDATE wildcard_gone SET kind = 'forgotten', number = 0, text = '' WHERE version = ?"
"""Who knows only what was before that version is told that there were deletions which nobody remembers."""

# -- large imports

MORE_MEMORY = "PRAGMA cache_size = -200000"
USUAL_MEMORY = "PRAGMA cache_size = -2000"

# What is inserted from packed numbers (bulk/packing.py) is none that a statement need undo by itself, as the whole
# transaction is undone when one of them fails: OR FAIL spares SQLite a copy of every page before it is changed.

ALIKE_CREATE = """
CREATE TEMP TABLE IF NOT EXISTS wildcard_alike
    (code INTEGER PRIMARY KEY, owner, pattern, destinations, enabled, expires, description)
"""
ALIKE_DROP = "DROP TABLE temp.wildcard_alike"
ALIKE_CLEAR = "DELETE FROM temp.wildcard_alike"
ALIKE_ADD = "INSERT INTO temp.wildcard_alike VALUES (?, ?, ?, ?, ?, ?, ?)"
SUBSCRIPTIONS_ADD = """
INSERT OR FAIL INTO wildcard_subscription
    (number, id, owner, pattern, condition, destinations, enabled, expires, description, created, version)
SELECT ?2 + c.rowid, CAST(substr(?4, value >> 37, value >> 27 & 1023) AS TEXT), a.owner, a.pattern,
    nullif(CAST(substr(?4, (value >> 37) + (value >> 27 & 1023), value >> 15 & 4095) AS TEXT), ''), a.destinations,
    a.enabled, a.expires, a.description, ?3 + c.rowid, ?3 + c.rowid
FROM carray(?1) AS c CROSS JOIN temp.wildcard_alike AS a ON a.code = value & 32767
"""
"""From the top: where in a text an id begins that a tree follows, how long both are, and what they have beside them."""
FORMS_CREATE = "CREATE TEMP TABLE IF NOT EXISTS wildcard_form (code INTEGER PRIMARY KEY, key, kind)"
FORMS_DROP = "DROP TABLE temp.wildcard_form"
FORMS_CLEAR = "DELETE FROM temp.wildcard_form"
FORM_ADD = "INSERT INTO temp.wildcard_form VALUES (?, ?, ?)"
MATCHERS_ADD = """
INSERT OR FAIL INTO wildcard_matcher (id, text, key, kind, uses)
SELECT ?2 + c.rowid, CAST(substr(?3, value >> 37, value >> 26 & 2047) AS TEXT), f.key, f.kind, value & 2047
FROM carray(?1) AS c CROSS JOIN temp.wildcard_form AS f ON f.code = value >> 11 & 32767
"""
"""From the top: where in a text a matcher begins, how long it is, its key and kind, and how often it is used."""
MATCHERS_FIND = """
SELECT c.rowid, m.id, m.uses
FROM carray(?1) AS c CROSS JOIN temp.wildcard_form AS f ON f.code = value >> 11 & 32767
CROSS JOIN wildcard_matcher AS m
    ON m.text = CAST(substr(?2, value >> 37, value >> 26 & 2047) AS TEXT) AND m.key = f.key AND m.kind = f.kind
"""
"""Likewise; the place of each that is there among those that are given, from 1."""
