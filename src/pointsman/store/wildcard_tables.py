"""The tables of wildcard subscriptions, which are in the same file as the queue; ``pointsman.subscriptions`` uses them.

    wildcard_control       one row: what a transaction that changes any of the others reads first and writes last
    wildcard_subscription  the subscriptions; a number is never given twice
    wildcard_matcher       the distinct matchers and number comparisons, each stored once, and how many use it
    wildcard_pattern       the distinct subject patterns, likewise
    wildcard_use           which subscriptions have a matcher, and which of them are found by it (gate = 1); a subject
                           pattern that subscriptions are found by stands there with its number below zero
    wildcard_gone          what was deleted, by the version of its deletion; the first may say that there was more

A condition is kept as a tree over the numbers of its matchers, in JSON (see ``subscriptions/trees.py``).
"""

from __future__ import annotations

WILDCARD_TABLES = """
CREATE TABLE wildcard_control (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL,
    subscriptions INTEGER NOT NULL,
    last_subscription INTEGER NOT NULL,
    last_matcher INTEGER NOT NULL,
    last_pattern INTEGER NOT NULL
);
INSERT INTO wildcard_control VALUES (1, 0, 0, 0, 0, 0);
CREATE TABLE wildcard_subscription (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    pattern INTEGER,
    condition TEXT,
    destinations TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    expires REAL,
    description TEXT,
    created INTEGER NOT NULL,
    version INTEGER NOT NULL
);
CREATE INDEX wildcard_subscription_by_owner ON wildcard_subscription (owner);
CREATE INDEX wildcard_subscription_by_version ON wildcard_subscription (version);
CREATE TABLE wildcard_matcher (
    id INTEGER PRIMARY KEY,
    text NOT NULL,
    key TEXT NOT NULL,
    kind INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    UNIQUE (text, key, kind)
);
CREATE TABLE wildcard_pattern (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL,
    dialect TEXT NOT NULL,
    uses INTEGER NOT NULL,
    UNIQUE (text, dialect)
);
CREATE TABLE wildcard_use (
    matcher INTEGER NOT NULL,
    gate INTEGER NOT NULL,
    subscription INTEGER NOT NULL,
    PRIMARY KEY (matcher, gate, subscription)
) WITHOUT ROWID;
CREATE TABLE wildcard_gone (
    version INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    text TEXT NOT NULL
);
"""
WILDCARD_CHANGES = """
ALTER TABLE wildcard_control ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE wildcard_control ADD COLUMN recent TEXT NOT NULL DEFAULT '';
UPDATE wildcard_control SET gone = (SELECT count(*) FROM wildcard_gone);
"""
"""Version 4: how much is in ``wildcard_gone`` is counted, as it must not grow without end, and the last changes stand
where everybody looks first (see ``subscriptions/noting.py``).
"""
