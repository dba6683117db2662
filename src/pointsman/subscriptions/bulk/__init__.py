"""Imports in column form: compiled code reads what is plainly written, and all else goes the long way.

    json_text ─▶ lines ─▶ line_pieces ┬─▶ pieces ─▶ adding
                           row_pieces ┘              ▲
    json_text ─▶ conditions ─▶ trees, terms, uses ───┘

What is stored, and what is refused, is the same either way.
"""
