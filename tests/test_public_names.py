"""The names that the package exports, and how its objects show themselves."""

from __future__ import annotations

from importlib.resources import files

import pointsman
from pointsman import Broker, Message, Pattern, Queue, RoutingTable

TABLE = RoutingTable.parse("routes: [{name: stock, pattern: orders.>, destinations: [warehouse]}]")


def test_dir_shows_the_exported_names_and_each_of_them_is_there() -> None:
    """Also before one of them was used."""
    assert dir(pointsman) == sorted(pointsman.__all__)
    assert all(getattr(pointsman, name) is not None for name in pointsman.__all__)


def test_the_package_says_that_it_is_typed() -> None:
    """For the type checkers of those who use it."""
    assert files("pointsman").joinpath("py.typed").is_file()


def test_a_repr_says_what_an_object_is_about() -> None:
    """In one line, whatever it holds."""
    assert repr(TABLE) == f"<RoutingTable {TABLE.hash[:12]}: 1 routes>"
    assert repr(Broker(":memory:", TABLE)) == f"Broker(':memory:', {TABLE!r}, closed)"
    with Queue(":memory:") as queue:
        assert repr(queue) == "Queue(':memory:')"
    assert repr(Pattern("orders.*")) == "Pattern('orders.*', dialect='nats')"
    assert repr(Message("orders.new", b"two", id="1")) == "Message('orders.new', b'two', id='1', metadata={})"
    assert (
        repr(Message("orders.new", b"x" * 100, id="1"))
        == f"Message('orders.new', {b'x' * 60!r}…, id='1', metadata={{}})"
    )
