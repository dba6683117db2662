"""The tables of a queue's file, and how an older file becomes a newer one.

    control        one row: what each transaction reads first and writes last
    key            routing keys, each stored once
    message        what was put; never changed afterwards
    subscription   who gets messages; number 0 is the queue itself, the main line
    via            names of the routes that deliveries came by, each stored once
    ready          deliveries that can be taken, in the order in which they are; but for those of messages that are
                   younger than control, which are listed by the next who needs them (see ``quick.py``)
    leased         deliveries that a consumer has taken, until their time runs out
    delayed        deliveries that become ready at their time
    dead           deliveries that are given up, and why
    pending        for messages of several deliveries: how many are not done
    finished       messages whose deliveries are all done
    addressed      for messages that did not go to the queue itself alone: to whom they went, for ``retry``
    seen           ids of messages that were pruned, for as long as their repetition is noticed
    state          what routing remembers: sagas, gatherers, breakers, balance positions
    wildcard_...   wildcard subscriptions, see below

A delivery is a row of exactly one of ready, leased, delayed and dead, named by subscription, message and via. Times are
whole microseconds of the queue's own time (see ``transaction.py``).
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


APPLICATION = 0x506F696E
"""Marks an SQLite file as a queue: ``Poin``."""
VERSION = 5

FIRST = """
CREATE TABLE control (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    file TEXT NOT NULL,
    dialect TEXT NOT NULL,
    commits INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    time INTEGER NOT NULL,
    shift INTEGER NOT NULL,
    unfinished INTEGER NOT NULL,
    subscriptions INTEGER NOT NULL,
    keys INTEGER NOT NULL,
    returned INTEGER NOT NULL
);
CREATE TABLE key (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL UNIQUE);
CREATE TABLE message (
    sequence INTEGER PRIMARY KEY,
    key INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    time INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    expires INTEGER,
    id TEXT,
    metadata TEXT,
    envelope TEXT,
    body BLOB NOT NULL
);
CREATE INDEX message_by_id ON message (id) WHERE id IS NOT NULL;
CREATE TABLE subscription (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    pattern TEXT,
    dialect TEXT NOT NULL,
    lease INTEGER,
    attempts INTEGER,
    owner TEXT,
    version INTEGER NOT NULL,
    gone INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX subscription_by_version ON subscription (version);
CREATE TABLE via (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE ready (
    subscription INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    via INTEGER NOT NULL,
    key INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    note TEXT,
    error TEXT,
    PRIMARY KEY (subscription, priority, sequence, via)
) WITHOUT ROWID;
CREATE TABLE leased (
    until INTEGER NOT NULL,
    subscription INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    via INTEGER NOT NULL,
    token INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    key INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    note TEXT,
    error TEXT,
    PRIMARY KEY (until, subscription, sequence, via)
) WITHOUT ROWID;
CREATE TABLE delayed (
    due INTEGER NOT NULL,
    subscription INTEGER NOT NULL,
    sequence INTEGER NOT NULL,
    via INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    key INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    note TEXT,
    error TEXT,
    PRIMARY KEY (due, subscription, sequence, via)
) WITHOUT ROWID;
CREATE TABLE dead (
    sequence INTEGER NOT NULL,
    subscription INTEGER NOT NULL,
    via INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    key INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    note TEXT,
    error TEXT,
    reason TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (sequence, subscription, via)
) WITHOUT ROWID;
CREATE TABLE pending (sequence INTEGER PRIMARY KEY, open INTEGER NOT NULL);
CREATE TABLE finished (sequence INTEGER PRIMARY KEY, time INTEGER NOT NULL, archived INTEGER NOT NULL DEFAULT 0);
CREATE TABLE seen (id TEXT PRIMARY KEY, time INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE state (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    correlation_id TEXT NOT NULL,
    value TEXT NOT NULL,
    due INTEGER,
    PRIMARY KEY (kind, name, correlation_id)
) WITHOUT ROWID;
CREATE INDEX state_by_due ON state (due) WHERE due IS NOT NULL;
"""

ALL_LISTED = """
UPDATE control SET (commits, sequence, time, unfinished) = (
    SELECT control.commits + m.sequence - control.sequence, m.sequence,
        max(control.time, min(m.time, control.time + 60000000)), control.unfinished + m.sequence - control.sequence
    FROM message AS m WHERE m.sequence = (SELECT max(sequence) FROM message)
) WHERE one = 1 AND sequence < (SELECT max(sequence) FROM message);
"""
"""Version 2: messages younger than control have their deliveries to come; those of version 1 have them already."""

ADDRESSED = """
CREATE TABLE addressed (sequence INTEGER PRIMARY KEY, targets TEXT NOT NULL);
DELETE FROM subscription WHERE gone = 1;
"""
"""Version 5: it is known to whom a message went after all are done with it; subscriptions that ended leave no row."""

STEPS: tuple[str, ...] = (FIRST, ALL_LISTED, WILDCARD_TABLES, WILDCARD_CHANGES, ADDRESSED)
"""What takes a file from version n to n + 1; the steps of the past are never changed."""

READY_BY_KEY = """
CREATE INDEX IF NOT EXISTS ready_by_key ON ready (key, priority, sequence) WHERE subscription = 0
"""
"""Made when a pattern that nobody subscribed to is first asked for, so that nobody else pays for it."""
