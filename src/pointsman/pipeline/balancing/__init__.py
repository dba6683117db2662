"""Balanced routes over a micro-batch: the choices that ``RoutingTable.decide`` would make message by message."""

from pointsman.columns.turns import moved, settled
from pointsman.pipeline.balancing.balance import Balanced, balance, taken

__all__ = ["Balanced", "balance", "moved", "settled", "taken"]
