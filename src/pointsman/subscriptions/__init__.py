"""Wildcard subscriptions: kept by the million in the file of the queue, found by what a message is and says.

gates, deciding ─▶ model ─▶ reading, writing ─▶ files
"""
