"""Taking over the messages of another queue that keeps them in SQLite: MiniQ and litequeue.

    opening ─▶ source ─▶ terms ─▶ run ─▶ report        legacy ─▶ usage

The source is only read: not a byte of it, nor a file beside it, is written.
"""
