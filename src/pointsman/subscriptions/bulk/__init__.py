"""Imports in column form: compiled code reads what is plainly written, and all else goes the long way.

    json_text ─▶ lines ─▶ line_pieces ┬─▶ pieces ────────────┐
                           row_pieces ┘                      ├─▶ adding
    json_text ─▶ conditions ─▶ trees, uses; terms ─▶ known ──┘

What is stored, and what is refused, is the same either way.
"""
