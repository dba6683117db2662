"""The input adapter: a message comes in, and is handed on with each subscription that matches it."""

from __future__ import annotations

from pointsman.message import Message
from pointsman.subscriptions.output_adapter import OutputAdapter
from pointsman.subscriptions.resolver import PAGE, Resolver


class InputAdapter:
    """Takes messages from a source: one after the other, in pages of ``page`` matching subscriptions."""

    def __init__(self, resolver: Resolver, output: OutputAdapter, page: int = PAGE) -> None:
        self._resolver = resolver
        self._output = output
        self._page = page

    def take(self, message: Message) -> None:
        """Has a message resolved, and gives it to the output adapter with each matching subscription."""
        try:
            resolved = self._resolver.resolve(message.id, message.subject, message.metadata)
            after = 0
            while page := self._resolver.matches(resolved, self._page, after):
                for match in page:
                    self._output.accept(message, match)
                after = page[-1].number
        finally:
            self._resolver.forget(message.id)
