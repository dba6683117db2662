"""What the pipeline of the demo wrote: its files as one table, what became of each message, and the counts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pointsman.demo.counts import Counts, Flow, Refusal, family_of, followed_of_rows, general_reason
from pointsman.demo.folder import DemoFolder

if TYPE_CHECKING:
    import pyarrow as pa

Outcome = frozenset[str]
"""What became of one message: each delivery as ``route > destination``, or why there is none."""
UNROUTED = "no route"
ROUTED_TEXTS = ("id", "route", "instead_of", "original_subject", "body", "destination")
FOLLOWED_TEXTS = ("route", "correlation_id", "outcome", "subject", "causation_id", "time")


class Written:
    """The files in a demo's folder, read once."""

    def __init__(self, folder: DemoFolder) -> None:
        """Reads the files. Raises ``OSError``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        texts = [(name, pa.string()) for name in ROUTED_TEXTS]
        problem = pa.struct([(name, pa.string()) for name in ("stage", "code", "reason")])
        schema = pa.schema([*texts, ("problem", problem), ("outcome", pa.string())])
        dead = [
            pq.ParquetFile(file).read(["id", "route", "instead_of", "original_subject", "destination"])
            for file in sorted((folder.out / "dead").rglob("*.parquet"))
        ]
        self.rows = pa.concat_tables(
            [
                schema.empty_table(),
                *_tables(folder.out / "routed", schema),
                *_tables(folder.warehouse, schema),
                *(table.append_column("outcome", [["dead"] * len(table)]) for table in dead),
            ],
            promote_options="default",
        )
        """One row for each delivery, and for each message that has none."""
        self.commands = pa.concat_tables([schema.empty_table(), *_tables(folder.out / "commands" / "routed", schema)])
        """One row for each delivery of what a saga sent."""
        texts = [(name, pa.string()) for name in FOLLOWED_TEXTS]
        schema = pa.schema([*texts, ("path", pa.list_(pa.string())), ("number", pa.int64()), ("kind", pa.string())])
        self.followed = pa.concat_tables([schema.empty_table(), *_tables(folder.out / "followed", schema)])
        """One row for each thing that a saga or a gathering did."""

    def outcomes(self, keys: set[str], shared: set[str]) -> dict[str, Outcome]:
        """Returns what became of the messages with these ids, and of the lines that are no message.

        A line that is no message is known by its text. Of deliveries through ``shared`` routes the destination is left
        out.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        wanted = pa.array(sorted(keys))
        found: defaultdict[str, set[str]] = defaultdict(set)
        for column in ("id", "body"):
            for row in self.rows.filter(pc.is_in(self.rows[column], value_set=wanted)).to_pylist():
                found[row[column]].add(_outcome(row, shared))
        return {key: frozenset(texts) for key, texts in found.items()}

    def counts(self) -> Counts:
        """Returns the counts of all rows."""
        import pyarrow.compute as pc

        deliveries: Counter[Flow] = Counter()
        unrouted: Counter[str] = Counter()
        quarantined: Counter[Refusal] = Counter()
        fallbacks: Counter[tuple[str, str]] = Counter()
        failed: Counter[str] = Counter()
        for row in _grouped(self.rows.drop_columns(["problem", "body"]), "id"):
            family, destination = family_of(row["original_subject"]), row["destination"]
            if row["outcome"] == "unrouted":
                unrouted[family] += row["count"]
            elif row["route"] is not None:
                deliveries[Flow(family, row["route"], destination)] += row["count"]
                failed[destination] += row["count"] if row["outcome"] == "dead" else 0
                fallbacks[row["instead_of"] or "", destination] += row["count"] if row["instead_of"] else 0
        for row in self.rows.filter(pc.field("outcome") == "quarantined").to_pylist():
            why = row["problem"]
            family = family_of(row["original_subject"])
            quarantined[Refusal(family, why["stage"], why["code"], general_reason(why["reason"]))] += 1
        routed = pc.count_distinct(self.rows.filter(pc.field("route").is_valid())["id"]).as_py()
        return Counts(
            messages=routed + quarantined.total() + unrouted.total(),
            routed=routed,
            deliveries=deliveries,
            quarantined=quarantined,
            unrouted=unrouted,
            carried=Counter({(row["route"], row["destination"]): row["count"] for row in self._carried()}),
            fallbacks=+fallbacks,
            failed=+failed,
            followed=followed_of_rows(self._followed(), self._causes()),
        )

    def _carried(self) -> Iterator[dict[str, Any]]:
        return _grouped(self.commands.select(["id", "route", "destination"]), "id")

    def _followed(self) -> Iterator[dict[str, Any]]:
        for row in self.followed.to_pylist():
            yield row | {"time": datetime.fromisoformat(row["time"])}

    def _causes(self) -> dict[str, str]:
        """Returns the subjects of the messages that moved a saga or a gathering, as they were sent, by id."""
        import pyarrow.compute as pc

        causes = self.rows.filter(pc.is_in(self.rows["id"], value_set=self.followed["causation_id"].combine_chunks()))
        return dict(zip(causes["id"].to_pylist(), causes["original_subject"].to_pylist(), strict=True))


def refused(stage: str, code: str, reason: str) -> str:
    """Returns the outcome of a message that is quarantined."""
    return f"{stage}: {code}, {reason}"


def delivered(route: str, destination: str, shared: set[str]) -> str:
    """Returns the outcome of a delivery, which does not name the destination if the route is shared."""
    return route if route in shared else f"{route} > {destination}"


def _outcome(row: dict[str, Any], shared: set[str]) -> str:
    if row["route"] is not None:
        return delivered(row["route"], row["destination"], shared)
    why = row["problem"]
    return UNROUTED if why is None else refused(why["stage"], why["code"], why["reason"])


def _tables(folder: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yields the JSON files of a folder as tables; values in the names of folders are columns as well."""
    import pyarrow as pa
    from pyarrow import json

    # A dataset would read them all at once, but to_table hangs on these files (pyarrow 26.0.1, also without threads).
    reading = json.ReadOptions(use_threads=False, block_size=16 << 20)
    parsing = json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore")
    for file in sorted(folder.rglob("*.json")):
        table = json.read_json(file, reading, parsing)
        for part in file.relative_to(folder).parts[:-1]:
            name, _, value = part.partition("=")
            if name in schema.names:
                column = pa.repeat(pa.scalar(unquote(value)), len(table))
                table = table.set_column(table.schema.get_field_index(name), name, column)
        yield table


def _grouped(table: pa.Table, counted: str) -> Iterator[dict[str, Any]]:
    """Yields the distinct rows without the ``counted`` column, each with its ``count``."""
    keys = [name for name in table.column_names if name != counted]
    for row in table.group_by(keys).aggregate([(counted, "count")]).to_pylist():
        yield row | {"count": row[f"{counted}_count"]}
