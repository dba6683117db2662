"""The commands of ``pointsman``, each with the first sentence of its help."""

from __future__ import annotations

from pointsman.cli.parts import Part, PartsGroup


class Commands(PartsGroup):
    """The commands in the order in which help lists them."""

    parts = (
        Part(
            "match",
            "pointsman.cli.match:match",
            "Match subjects against a pattern, and show what its wildcards stand for.",
        ),
        Part(
            "check",
            "pointsman.cli.check:check",
            "Find what is probably not meant in a routing table: routes that are never taken, unused destinations, "
            "and more.",
        ),
        Part(
            "conformance",
            "pointsman.cli.conformance:conformance",
            "Judge cases taken from the behaviour of real servers.",
        ),
        Part(
            "demo",
            "pointsman.cli.demo:demo",
            "Play an hour of a shop: its events, streamed on Spark through a table with every strategy.",
        ),
        Part(
            "run",
            "pointsman.cli.run:run",
            "Run a pipeline: messages from a source, routed by a table, to their destinations, on Spark.",
        ),
        Part(
            "replay",
            "pointsman.cli.replay:replay",
            "Deliver the dead letters of a pipeline again, each under the same delivery id.",
        ),
        Part(
            "explain",
            "pointsman.cli.explain:explain",
            "Show stage by stage what a routing table does with a message, and why.",
        ),
        Part(
            "test",
            "pointsman.cli.expectations:run",
            "Run the expectations of a routing table: messages, and the deliveries they must have.",
        ),
        Part(
            "coverage",
            "pointsman.cli.coverage:coverage",
            "Show which routes, destinations and translations the expectations, and a file of messages, exercise.",
        ),
        Part(
            "graph",
            "pointsman.cli.graph:graph",
            "Draw a routing table: from patterns to routes to destinations, as Mermaid text, SVG or PNG.",
        ),
        Part(
            "diff",
            "pointsman.cli.table_diff:diff",
            "Show what changed in meaning from routing table A to B, and for which messages of a file or folder.",
        ),
        Part(
            "route",
            "pointsman.cli.route:route",
            "Route the messages of a file or folder, once, and write what became of each.",
        ),
        Part("table", "pointsman.cli.table:app", "Compare routing tables, and show their schema."),
        Part("pattern", "pointsman.cli.pattern:app", "Compare and convert patterns."),
        Part("access", "pointsman.cli.access:app", "Who may use what, by a routing table."),
        Part("queue", "pointsman.cli.queue:app", "Use a durable queue in a file."),
        Part("subscriptions", "pointsman.cli.subscriptions:app", "Keep wildcard subscriptions in a queue's file."),
        Part("broker", "pointsman.cli.broker:app", "Run the embedded broker."),
        Part("bench", "pointsman.cli.bench:app", "Measure speed against peers."),
    )
