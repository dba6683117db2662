"""What the column form of subscriptions is made of.

reading ─▶ programs, numbers ─▶ build ─▶ SubscriptionIndex (../columns.py) ─▶ streams, kernels
"""
