"""The statements of the live resolver; a test asserts how each is planned."""

from __future__ import annotations

MATCHERS_AFTER = """
SELECT m.id, m.text, m.key, m.kind, EXISTS (SELECT 1 FROM wildcard_use AS u WHERE u.matcher = m.id AND u.gate = 1)
FROM wildcard_matcher AS m WHERE m.id > ? ORDER BY m.id LIMIT ?
"""
"""With each, whether subscriptions are found by it."""
CHANGES = """
SELECT 'used', number, condition, NULL, NULL, NULL FROM wildcard_subscription
WHERE version > ?1 AND enabled AND condition IS NOT NULL
UNION ALL
SELECT kind, number, text, NULL, NULL, NULL FROM wildcard_gone WHERE version > ?1 AND kind <> 'subscription'
UNION ALL
SELECT 'new', m.id, m.text, m.key, m.kind,
    EXISTS (SELECT 1 FROM wildcard_use AS u WHERE u.matcher = m.id AND u.gate = 1)
FROM wildcard_matcher AS m WHERE m.id > ?2
"""
"""After a version: the conditions that use matchers, what is gone, and the matchers above a number.

All in one statement, as each takes its time, however little it finds."""
BEHIND_GATES = """
SELECT u.matcher, u.subscription FROM carray(?1) AS c CROSS JOIN wildcard_use AS u
ON u.matcher = c.value AND u.gate = 1 AND u.subscription > iif(c.value = ?2, ?3, 0) LIMIT ?4
"""
"""Those behind a page of gates, gate by gate; of the gate ``?2``, those after ``?3``."""
SUBSCRIPTIONS = """
SELECT s.number, s.id, s.owner, s.destinations, s.pattern, s.condition
FROM carray(?1) AS c CROSS JOIN wildcard_subscription AS s
ON s.number = c.value AND s.enabled AND (s.expires IS NULL OR s.expires > ?2)
"""

# -- what was registered, in a database of the resolver's own that SQLite keeps in a file when it grows

REGISTERED = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -2000;
CREATE TABLE registered (message INTEGER, subscription INTEGER, PRIMARY KEY (message, subscription)) WITHOUT ROWID;
CREATE TABLE gathered (
    message INTEGER,
    destination TEXT,
    owner TEXT,
    count INTEGER NOT NULL,
    subscriptions TEXT NOT NULL,
    PRIMARY KEY (message, destination, owner)
) WITHOUT ROWID;
"""
REGISTER = "INSERT OR IGNORE INTO registered SELECT ?1, value FROM carray(?2)"
REGISTERED_AFTER = """
SELECT subscription FROM registered WHERE message = ? AND subscription > ? ORDER BY subscription LIMIT ?
"""
REGISTERED_FORGET = "DELETE FROM registered WHERE message = ?"
GATHER = """
INSERT INTO gathered VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO UPDATE SET count = count + excluded.count,
    subscriptions = iif(count < ?6, subscriptions || char(0) || excluded.subscriptions, subscriptions)
"""
GATHERED_AFTER = """
SELECT destination, owner, count, subscriptions FROM gathered
WHERE message = ?1 AND (destination, owner) > (?2, ?3) ORDER BY destination, owner LIMIT ?4
"""
GATHERED_COUNT = "SELECT count(*) FROM gathered WHERE message = ?"
GATHERED_FORGET = "DELETE FROM gathered WHERE message = ?"
