"""The plan of every statement about wildcard subscriptions, as SQLite explains it. A new one needs an entry here."""

from __future__ import annotations

BY_NUMBER = "SEARCH wildcard_subscription USING INTEGER PRIMARY KEY (rowid=?)"
MATCHER = "SEARCH wildcard_matcher USING INTEGER PRIMARY KEY (rowid=?)"
PATTERN = "SEARCH wildcard_pattern USING INTEGER PRIMARY KEY (rowid=?)"
ITS_PATTERN = "SEARCH p USING INTEGER PRIMARY KEY (rowid=?)"
USE = "SEARCH wildcard_use USING PRIMARY KEY (matcher=? AND gate=? AND subscription>?)"
LIST = "SCAN carray VIRTUAL TABLE INDEX 1:"
PACKED = "SCAN c VIRTUAL TABLE INDEX 1:"

PLANS: dict[str, tuple[str, ...]] = {
    "CONTROL_READ": ("SEARCH wildcard_control USING INTEGER PRIMARY KEY (rowid=?)",),
    "CONTROL_WRITE": ("SEARCH wildcard_control USING INTEGER PRIMARY KEY (rowid=?)",),
    "SUBSCRIPTION_ADD": (),
    "SUBSCRIPTION_CHANGE": (BY_NUMBER,),
    "SUBSCRIPTION_DELETE": (BY_NUMBER,),
    "SUBSCRIPTION_FIND": ("SEARCH wildcard_subscription USING INDEX sqlite_autoindex_wildcard_subscription_1 (id=?)",),
    "SUBSCRIPTION_BY_ID": (
        "SEARCH s USING INDEX sqlite_autoindex_wildcard_subscription_1 (id=?)",
        ITS_PATTERN,
    ),
    "SUBSCRIPTION_BY_NUMBER": ("SEARCH s USING INTEGER PRIMARY KEY (rowid=?)", ITS_PATTERN),
    "SUBSCRIPTIONS_AFTER": ("SEARCH s USING INTEGER PRIMARY KEY (rowid>?)", ITS_PATTERN),
    "SUBSCRIPTIONS_OF_OWNER": (
        "SEARCH s USING INDEX wildcard_subscription_by_owner (owner=? AND rowid>?)",
        ITS_PATTERN,
    ),
    "SUBSCRIPTIONS_OF_MATCHER": ("MERGE (UNION ALL)", "LEFT", USE, "RIGHT", USE),
    "CHANGES_AFTER": (
        "MERGE (UNION ALL)",
        "LEFT",
        "SEARCH wildcard_subscription USING INDEX wildcard_subscription_by_version (version>?)",
        "RIGHT",
        "SEARCH wildcard_gone USING INTEGER PRIMARY KEY (rowid>?)",
    ),
    "MATCHER_ANY": ("SCAN wildcard_matcher USING COVERING INDEX sqlite_autoindex_wildcard_matcher_1",),
    "MATCHER_FIND": (
        "SEARCH wildcard_matcher USING INDEX sqlite_autoindex_wildcard_matcher_1 (text=? AND key=? AND kind=?)",
    ),
    "MATCHER_ADD": (),
    "MATCHERS_USE": (LIST, MATCHER),
    "MATCHER_LEAVE": (MATCHER,),
    "MATCHER_DELETE": (MATCHER,),
    "MATCHER_READ": (MATCHER,),
    "MATCHERS_WRITTEN": (PACKED, "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)"),
    "COMPARISONS_READ": (PACKED, "SEARCH m USING INTEGER PRIMARY KEY (rowid=?)"),
    "MATCHERS_AFTER": ("SEARCH wildcard_matcher USING INTEGER PRIMARY KEY (rowid>?)",),
    "PATTERN_FIND": ("SEARCH wildcard_pattern USING INDEX sqlite_autoindex_wildcard_pattern_1 (text=? AND dialect=?)",),
    "PATTERN_ADD": (),
    "PATTERN_USE": (PATTERN,),
    "PATTERN_LEAVE": (PATTERN,),
    "PATTERN_DELETE": (PATTERN,),
    "PATTERNS_AFTER": ("SEARCH wildcard_pattern USING INTEGER PRIMARY KEY (rowid>?)",),
    "USES_ADD": (LIST,),
    "USE_DELETE": ("SEARCH wildcard_use USING PRIMARY KEY (matcher=? AND gate=? AND subscription=?)",),
    "ALIKE_CREATE": (),
    "ALIKE_DROP": (),
    "ALIKE_CLEAR": (),
    "ALIKE_ADD": (),
    "SUBSCRIPTIONS_ADD": (PACKED, "SEARCH a USING INTEGER PRIMARY KEY (rowid=?)"),
    "FORMS_CREATE": (),
    "FORMS_DROP": (),
    "FORMS_CLEAR": (),
    "FORM_ADD": (),
    "MATCHERS_ADD": (PACKED, "SEARCH f USING INTEGER PRIMARY KEY (rowid=?)"),
    "MATCHERS_FIND": (
        PACKED,
        "SEARCH f USING INTEGER PRIMARY KEY (rowid=?)",
        "SEARCH m USING INDEX sqlite_autoindex_wildcard_matcher_1 (text=? AND key=? AND kind=?)",
    ),
    "GONE_ADD": (),
    "GONE_OLDEST": ("SCAN wildcard_gone",),
    "GONE_FORGET": ("SEARCH wildcard_gone USING INTEGER PRIMARY KEY (rowid<?)",),
    "GONE_MARK": ("SEARCH wildcard_gone USING INTEGER PRIMARY KEY (rowid=?)",),
}
"""None goes over a table but for MATCHER_ANY, which ends with the first row, GONE_OLDEST, which goes over what is then
removed, and those that empty a temporary one; a
list is one that is given."""
