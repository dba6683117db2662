"""Imports in column form: compiled code reads what is plainly written, and all else goes the long way.

    json_text ─▶ lines ─▶ line_pieces ┬─▶ pieces ─┐
                           row_pieces ┘           ├─▶ preparing ─▶ ahead ─▶ adding
    json_text ─▶ conditions ─▶ trees ─────────────┤                           │
    terms ─▶ term_table ──────────────────────────┘          uses, known, packed_rows

What stands before ``ahead`` is done for the next piece by a thread, while the present one is stored by one that has
the transaction. What is stored, and what is refused, is the same either way.
"""
