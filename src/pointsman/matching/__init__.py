"""Whom a subject reaches: from a subject to all patterns that match it, at any scale.

- ``live``: ``SubjectIndex``, which can be changed at any time;
- ``compiled``: ``CompiledIndex``, frozen, for millions of patterns and whole Arrow columns of subjects;
- ``terms``: the same for metadata conditions.
"""
