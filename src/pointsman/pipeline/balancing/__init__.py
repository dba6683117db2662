"""Balanced routes over a micro-batch: the choices that ``RoutingTable.decide`` would make message by message."""

from pointsman.pipeline.balancing.balance import Balanced, balance, taken
from pointsman.pipeline.balancing.moving import moved, settled

__all__ = ["Balanced", "balance", "moved", "settled", "taken"]
