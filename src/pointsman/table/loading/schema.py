"""The schema of a routing table: what its YAML may say. Its JSON schema and docs come from here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from pointsman._util.time import NO_DURATION, parse_duration
from pointsman.conditions import Predicate
from pointsman.conditions.compiler import compile_field, walk
from pointsman.errors import InputError
from pointsman.message import Message


def field_of_message(text: str) -> Callable[[Message], str | None]:
    """The value of a field, written as in a predicate (``metadata['customer']``, ``body.order.id``), as text.

    None when it is not there, or is a list or a mapping. Raises ``PredicateError`` and ``InputError`` (``bad-table``).
    """
    fields = Predicate(f"({text}) IS NOT NULL").fields
    if len(fields) != 1:
        raise InputError("bad-table", f"{text!r} is not one field")
    read = compile_field(next(iter(fields)))

    def value(message: Message) -> str | None:
        found = read(message, [])
        if isinstance(found, bool):
            return "true" if found else "false"
        return None if found is None or isinstance(found, list | dict) else str(found)

    return value


def field_of_answer(path: str) -> Callable[[object], object]:
    """The value at a path of an answer: ``price.amount``, ``offers.0.price``."""
    steps = tuple(int(step) if step.isdigit() else step for step in path.split("."))

    def value(answer: object) -> Any:
        return walk(answer, steps)

    return value


# -- what a routing table may say: the shape of its YAML, which is also its JSON Schema
#
# These models say what stands where. What a text among them means (a pattern, a predicate, a template) is read by
# ``compile``, so that every mistake is reported with its place.


DialectName = Literal["nats", "amqp", "zato", "mqtt"]
StrategyName = Literal["direct", "pattern", "priority", "content", "balanced", "scatter-gather"]
BalanceName = Literal["round-robin", "random", "least-connections", "weighted", "sticky"]
AggregationName = Literal["collect", "first", "min", "max", "count"]


def seconds(value: object) -> object:
    """A duration such as ``30s``, ``1.5m`` or ``250ms`` in seconds; a number is one already."""
    if isinstance(value, str):
        return parse_duration(value)
    if isinstance(value, bool):
        # pydantic reports what is raised as ValueError.
        raise ValueError(NO_DURATION)  # noqa: TRY004
    return value


Duration = Annotated[
    float,
    BeforeValidator(seconds),
    Field(gt=0, le=10 * 365 * 86400),
    WithJsonSchema({"type": ["number", "string"], "description": "Seconds, or a number with ms, s, m, h or d."}),
]
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Part(BaseModel):
    """A mapping of the table; a key it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Function(Part):
    """A Python function, by the name under which the program that loads the table gives it."""

    function: Name


class Breaker(Part):
    """The circuit breaker of a destination."""

    failures: int = Field(5, ge=1, description="Failures in a row that open it.")
    reset: Duration = Field(30.0, description="How long it stays open before one request tries again.")
    probe: Duration = Field(30.0, description="How long that request may take to report.")
    fallback: Name | None = Field(None, description="The destination that is used instead while it is open.")


class Destination(Part):
    """Where deliveries go. What the type means is up to the runtime."""

    type: Name = "handler"
    options: dict[str, Any] = {}
    breaker: Breaker | None = None
    description: str = ""


class Share(Part):
    """A destination with a weight."""

    name: Name
    weight: int = Field(1, ge=0, le=1_000_000)


class Gather(Part):
    """How the answers of a scatter-gather route are put together."""

    timeout: Duration = 30.0
    quorum: int | None = Field(default=None, ge=1, description="How many answers are enough; all, if left out.")
    aggregation: AggregationName | Function = "collect"
    answers: str | None = Field(default=None, description="The pattern of the answers' subjects.")
    target: str = Field(default="metadata['target']", description="Where an answer says which destination it is of.")
    field: str | None = Field(default=None, description="Where in an answer's body the value stands: 'price.amount'.")


class Route(Part):
    """A named rule: which messages, by which strategy, where to."""

    name: Name
    pattern: str
    dialect: DialectName | None = None
    strategy: StrategyName = "pattern"
    destinations: list[Name | Share] = Field(min_length=1)
    when: str | Function | None = Field(None, description="An SQL predicate over the message, or a Python function.")
    conditions: dict[str, Any] | None = Field(None, description="Conditions on the metadata.")
    priority: int = 0
    group: str = Field(
        "", description="Routes of the strategies direct, priority and content compete within their group."
    )
    balance: BalanceName | None = None
    key: str | None = Field(None, description="The field whose value sticky balancing goes by: metadata['customer'].")
    gather: Gather | None = None
    enabled: bool = True
    description: str = ""

    @model_validator(mode="after")
    def _fits_its_strategy(self) -> Route:
        if self.strategy == "content" and self.when is None:
            raise ValueError("a content route needs a predicate: when")
        if self.strategy == "direct" and len(self.destinations) != 1:
            raise ValueError("a direct route has one destination")
        if (self.balance is not None) != (self.strategy == "balanced"):
            raise ValueError("balance is for balanced routes, which need it")
        if (self.key is not None) != (self.balance == "sticky"):
            raise ValueError("key is for sticky balancing, which needs it")
        if self.gather is not None and self.strategy != "scatter-gather":
            raise ValueError("gather is for scatter-gather routes")
        return self


class Translation(Part):
    """From subjects of a pattern to subjects made by a template."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)

    source: str = Field(alias="from")
    target: str | None = Field(None, alias="to")
    function: Name | None = Field(None, description="A Python function from the subject to the new one, instead of to.")
    name: Name | None = None
    dialect: DialectName | None = None

    @model_validator(mode="after")
    def _has_one_target(self) -> Translation:
        if (self.target is None) == (self.function is None):
            raise ValueError("a translation needs either to or function")
        return self


class Translations(Part):
    """The translations and how they are applied; a plain list stands for the first that matches."""

    apply: Literal["first", "all"] = Field(
        "first", description="The first rule that matches, or each in turn, on what the ones before made."
    )
    rules: list[Translation] = []

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, data: object) -> object:
        return {"rules": data} if isinstance(data, list) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [schema["properties"]["rules"], schema]}


class Naming(Part):
    """The naming standard of the table; its name alone stands for one that is not enforced."""

    standard: Name
    enforce: bool = Field(False, description="Whether messages outside the standard are refused.")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, data: object) -> object:
        return {"standard": data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core))
        return {"anyOf": [schema["properties"]["standard"], schema]}


class NamePart(Part):
    """One part of a naming standard."""

    name: Name
    words: list[str] = Field([], description="The words allowed; any, if left out.")


class Standard(Part):
    """A naming standard of one's own."""

    parts: list[NamePart] = Field(min_length=1)


class Sample(Part):
    """A message as an expectation writes it."""

    subject: str
    metadata: dict[str, str] = {}
    body: Any = None
    id: str = "expected"
    correlation_id: str | None = None
    content_type: str | None = None
    source: str | None = None


class Expected(Part):
    """A delivery that must come."""

    route: Name | None = None
    destination: Name
    subject: str | None = None


class Expectation(Part):
    """A message and the deliveries it must have: all of them and no others."""

    name: str = ""
    message: Sample
    principal: str | None = None
    deliveries: list[Name | Expected] = []
    refused: bool = Field(False, description="Whether access must refuse the message.")
    environments: list[Name] = Field([], description="Where it is expected; everywhere, if left out.")


class Silence(Part):
    """A finding of ``check`` that is accepted, and why."""

    code: Name
    at: Name | None = Field(None, description="The name of the route, destination, principal or saga it is about.")
    reason: Annotated[str, Field(min_length=3)]


class Removal(Part):
    """What an environment does without."""

    routes: list[Name] = []
    destinations: list[Name] = []
    translations: list[Name] = []


class Table(Part):
    """A routing table."""

    version: Literal[1] = 1
    name: str = ""
    dialect: DialectName = "nats"
    naming: Naming | None = Field(None, description="The naming standard that subjects follow: cim, or one's own.")
    destinations: dict[Name, Destination | None] = {}
    routes: list[Route] = []
    unrouted: Name | None = Field(None, description="The destination of messages that no route takes.")
    translations: Translations = Translations(apply="first")
    access: dict[Name, dict[str, Any] | str | None] = {}
    sagas: dict[Name, dict[str, Any]] = {}
    standards: dict[Name, Standard] = {}
    expectations: list[Expectation] = []
    silence: list[Silence] = []


class Overlay(Part):
    """What an environment adds and changes: destinations and access by their key, the others by their name."""

    remove: Removal = Removal()
    destinations: dict[Name, Any] = {}
    routes: list[dict[str, Any]] = []
    translations: list[dict[str, Any]] = []
    access: dict[Name, Any] = {}
    expectations: list[dict[str, Any]] = []


class Overlays(Part):
    """The environments of a table by themselves."""

    environments: dict[Name, Overlay] = {}


class Document(Table):
    """The YAML file: a table, the files it includes, and what environments change."""

    include: list[str] = []
    environments: dict[Name, Overlay] = {}
