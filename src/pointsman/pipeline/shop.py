"""A made-up shop to try the pipeline on: its events, and who wants to hear of them."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

REGIONS = ("asia", "eu", "uk", "us")
CATEGORIES = ("books", "electronics", "fashion", "garden", "music", "toys")
WAREHOUSES = ("austin", "berlin", "lyon", "osaka")
CUSTOMERS = tuple(f"c{number:04}" for number in range(5_000))

TOKENS = {
    "orders": (REGIONS, CATEGORIES, ("created", "paid", "cancelled", "returned")),
    "payments": (REGIONS, ("card", "invoice", "transfer"), ("authorized", "captured", "declined", "refunded")),
    "inventory": (WAREHOUSES, CATEGORIES, ("low", "out", "restocked", "counted")),
    "shipping": (WAREHOUSES, ("air", "rail", "road"), ("packed", "sent", "delivered", "lost")),
    "users": (REGIONS, CUSTOMERS, ("joined", "moved", "left", "seen")),
}
"""What the tokens after the first one are, for each first one."""

DEPARTMENTS = (
    ("audit", ">"),
    ("order archive", "orders.>"),
    ("customer care", "users.>"),
    ("fraud desk", "payments.*.*.declined"),
    ("refunds", "payments.*.*.refunded"),
    ("returns desk", "orders.*.*.returned"),
    ("buyers", "inventory.*.*.out"),
    ("lost parcels", "shipping.*.*.lost"),
)


def events(spark: SparkSession, count: int, seed: int = 1) -> DataFrame:
    """So many events: ``message_id``, ``subject`` and ``body``. The same seed gives the same events on any machine."""
    from pyspark.sql import functions as sf

    def pick(values: tuple[str, ...], place: int) -> Column:
        number = sf.pmod(sf.xxhash64("message_id", sf.lit(place), sf.lit(seed)), sf.lit(len(values)))
        if values is CUSTOMERS:
            return sf.format_string("c%04d", number)
        return sf.element_at(sf.array(*map(sf.lit, values)), number.cast("int") + 1)

    subjects = sf.map_from_arrays(
        sf.array(*map(sf.lit, TOKENS)),
        sf.array(
            *(
                sf.concat_ws(".", sf.lit(first), *(pick(values, place) for place, values in enumerate(others, 1)))
                for first, others in TOKENS.items()
            )
        ),
    )
    amount = sf.pmod(sf.xxhash64("message_id", sf.lit("amount"), sf.lit(seed)), sf.lit(100_000))
    return (
        spark.range(count)
        .withColumnRenamed("id", "message_id")
        .select(
            "message_id",
            sf.element_at(subjects, pick(tuple(TOKENS), 0)).alias("subject"),
            sf.to_json(sf.struct((amount / 100).alias("amount"), sf.lit("EUR").alias("currency"))).alias("body"),
        )
    )


def subscriptions(spark: SparkSession) -> DataFrame:
    """A few hundred subscriptions to these events: ``subscription_id`` and ``pattern``."""
    rows = [*DEPARTMENTS]
    rows += [
        (f"{region} {category}", f"orders.{region}.{category}.>") for region, category in product(REGIONS, CATEGORIES)
    ]
    rows += [(f"{region} tills", f"payments.{region}.*.captured") for region in REGIONS]
    rows += [
        (f"restock {warehouse} {category}", f"inventory.{warehouse}.{category}.low")
        for warehouse, category in product(WAREHOUSES, CATEGORIES)
    ]
    rows += [(f"{warehouse} dock", f"shipping.{warehouse}.*.packed") for warehouse in WAREHOUSES]
    rows += [(f"friends of {customer}", f"users.*.{customer}.>") for customer in CUSTOMERS[::20]]
    return spark.createDataFrame(rows, "subscription_id string, pattern string")
