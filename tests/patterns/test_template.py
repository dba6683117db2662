"""Templates: translating subjects, as NATS subject mapping does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointsman.errors import PointsmanError, SubjectError, TemplateError
from pointsman.patterns import Pattern, Subject, Template
from pointsman.patterns import template as f
from tests.patterns.strategies import NAMES, patterns, subjects


@pytest.mark.parametrize(
    ("dialect", "source", "template", "subject", "made"),
    [
        (
            "nats",
            "internal.graph.events.*",
            "public.graph.notifications.$1",
            "internal.graph.events.x",
            "public.graph.notifications.x",
        ),
        (
            "nats",
            "v1.workflow.commands.*",
            "v2.workflow.commands.$1",
            "v1.workflow.commands.start",
            "v2.workflow.commands.start",
        ),
        ("nats", "foo.*", "bar.{{ Wildcard( 1 ) }}", "foo.x", "bar.x"),
        ("nats", "*.*", "{{partition(10,2,1)}}", "a.b", f.partition("ba", 10)[0]),
        ("nats", "*.*", "{{PARTITION(3, 1)}}.$2", "a.b", f.partition("a", 3)[0] + ".b"),
        # As nats-server 2.15 has it: 0 stands for the first token, and for nothing if there is no wildcard.
        ("nats", "foo.*", "bar.{{partition(10,0)}}", "foo.a", "bar.3"),
        ("nats", "foo.*", "bar.{{partition(10)}}", "foo.a", "bar.2"),
        ("nats", "foo.*", "bar.{{partition(10, 0, 1)}}", "foo.bar", "bar.0"),
        ("nats", "foo.bar", "baz.{{partition(10,0)}}", "foo.bar", "baz.1"),
        ("nats", "foo.>", "bar.{{partition(10)}}.>", "foo.a.b", "bar.4.a.b"),
        ("nats", "*", "{{splitfromright(1,3)}}", "12345", "12.345"),
        ("nats", "*", "{{splitfromleft(1,0)}}", "12345", "12345"),
        ("nats", "*", "{{splitfromright(1,5)}}", "12345", "12345"),
        ("nats", "*", "{{slicefromleft(1,10)}}", "123", "123"),
        ("nats", "*", "{{slicefromright(1,10)}}", "123", "123"),
        ("nats", "*", "{{slicefromright(1,3)}}", "123456", "123.456"),
        ("nats", "*", "{{left(1,0)}}", "123", "123"),
        ("nats", "*", "{{right(1,9)}}", "123", "123"),
        ("nats", "foo", "bar.$foo.$", "foo", "bar.$foo.$"),
        ("nats", "foo.>", "a.>", "foo.b.c", "a.b.c"),
        ("nats", "foo.*.>", "$1.>", "foo.b.c.d", "b.c.d"),
        ("nats", "a.*", "", "a.b", "a.b"),
        ("nats", "a.*", "x", "b.c", None),
        ("amqp", "#.a.*", "x.$2.$1", "p.q.a.r", "x.r.p.q"),
        ("amqp", "a.#", "x.$1.y", "a", "x.y"),
        ("amqp", "a.#", "x.#", "a.b.c", "x.b.c"),
        ("amqp", "a.#", "{{partition(7,1)}}", "a.b.c", f.partition("b.c", 7)[0]),
        ("mqtt", "+/x/#", "y/$1/#", "d1/x/t/u", "y/d1/t/u"),
        ("mqtt", "+/x", "$SYS/$1", "d1/x", "$SYS/d1"),
        ("zato", "ord*.**", "x.$1.$2", "ORDERS.New.big", "x.ERS.New.big"),
    ],
)
def test_a_template_makes_a_subject_of_what_the_pattern_matched(
    dialect: str, source: str, template: str, subject: str, made: str | None
) -> None:
    """None when the pattern does not match."""
    assert Template(template, Pattern(source, dialect)).apply(subject) == made


@pytest.mark.parametrize(
    ("dialect", "source", "template", "code", "column"),
    [
        ("nats", "foo.*", "bar.$2", "unknown-wildcard", 5),
        ("nats", "foo.*", "bar.$0", "unknown-wildcard", 5),
        ("nats", "foo.*", "bar.{{wildcard(-1)}}", "unknown-wildcard", 5),
        ("nats", "foo", "bar.$1", "unknown-wildcard", 5),
        ("nats", "foo.>", "$1.>", "unknown-wildcard", 1),
        ("nats", "*.*", "{{partition(10,3)}}", "unknown-wildcard", 1),
        ("nats", "foo.*", "a.{{unknown(1)}}", "unknown-function", 3),
        ("nats", "foo.*", "{{wildcard 1}}", "unknown-function", 1),
        ("nats", "foo.*", "x{{wildcard(1)}}", "unknown-function", 1),
        ("nats", "foo.*", "{{wildcard()}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{wildcard(1,1)}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{wildcard(one)}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{partition()}}", "bad-arguments", 1),
        ("amqp", "foo.*", "{{partition(3,0)}}", "unknown-wildcard", 1),
        ("nats", "foo.*", "{{random()}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{random(3,1)}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{random(0)}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{partition(0,1)}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{split(1)}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{split(1,)}}", "bad-arguments", 1),
        ("nats", "foo.*", "{{split(1,a b)}}", "bad-arguments", 1),
        ("mqtt", "foo/+", "{{split(1,-)}}/{{left(1)}}", "bad-arguments", 16),
        ("nats", "foo.*", "{{left(1,x)}}", "bad-arguments", 1),
        ("amqp", "a.#", "{{left(1,2)}}", "bad-arguments", 1),
        ("nats", "foo.>", "bar.baz", "tail-mismatch", 5),
        ("nats", "foo.*", "bar.>", "tail-mismatch", 5),
        ("nats", "foo.*", "bar.*", "wildcard-in-template", 5),
        ("nats", "foo.>", ">.>", "wildcard-in-template", 1),
        ("zato", "foo.*", "b*r", "wildcard-in-template", 1),
        ("mqtt", "foo/+", "b+r", "wildcard-in-template", 1),
        ("nats", "foo.*", "a b.$1", "invalid-result", 1),
        ("nats", "foo.*", "a..$1", "invalid-result", 3),
        ("zato", "foo.*", "a#.$1", "invalid-result", 1),
        ("zato", "foo.*", "zato.$1", "invalid-result", 1),
    ],
)
def test_a_template_that_cannot_work_is_refused_when_it_is_written(
    dialect: str, source: str, template: str, code: str, column: int
) -> None:
    """With its code and the column of the token."""
    with pytest.raises(TemplateError) as caught:
        Template(template, Pattern(source, dialect))
    assert (caught.value.code, caught.value.column) == (code, column)


def test_the_error_says_how_many_wildcards_there_are() -> None:
    """And of which pattern."""
    with pytest.raises(TemplateError, match=r"there is no wildcard 3; 'a\.\*' has 1 wildcard$"):
        Template("$3", Pattern("a.*"))
    with pytest.raises(TemplateError, match=r"there is no wildcard 3; 'a\.\*\.\*' has 2 wildcards$"):
        Template("$3", Pattern("a.*.*"))
    with pytest.raises(TemplateError, match=r"there is no wildcard 1; 'a' has no wildcard$"):
        Template("$1", Pattern("a"))


def test_a_result_that_is_no_subject_is_an_error_with_the_reason() -> None:
    """A token of nothing but delimiters leaves nothing when it is split."""
    rule = Template("{{split(1,-)}}", Pattern("*"))
    with pytest.raises(TemplateError, match=r"makes '' of '--', which is no subject") as caught:
        rule.apply("--")
    assert caught.value.code == "invalid-result"


def test_applying_to_an_invalid_subject_is_an_error() -> None:
    """As it is for matching."""
    with pytest.raises(SubjectError):
        Template("b.$1", Pattern("a.*")).apply("a.*")


@pytest.mark.parametrize(
    ("dialect", "source", "template", "lost"),
    [
        ("nats", "foo.*.*", "bar.$2", (1,)),
        ("nats", "foo.*.*", "bar.$2.$1", ()),
        ("nats", "foo.*", "", ()),
        ("nats", "foo.*", "{{left(1,3)}}", (1,)),
        ("nats", "foo.*", "{{partition(3,1)}}", (1,)),
        ("nats", "foo.*", "{{partition(3,1)}}.$1", ()),
        ("nats", "foo.*", "{{split(1,-)}}", (1,)),
        ("nats", "foo.*", "{{slicefromleft(1,2)}}", ()),
        ("nats", "foo.*.*.*", "$3.{{slicefromleft(1,2)}}.{{slicefromleft(2,2)}}", (1, 2)),
        ("nats", "foo.*.*.*", "{{slicefromleft(1,2)}}.$3.{{slicefromleft(2,2)}}", (1, 2, 3)),
        ("nats", "foo.*.>", "$1.>", ()),
        ("nats", "foo.*.>", "{{slicefromleft(1,2)}}.>", (1,)),
        ("amqp", "#.a.#", "$1.$2", (1, 2)),
        ("amqp", "a.#", "x.#", ()),
        ("amqp", "a.#", "x", (1,)),
    ],
)
def test_a_template_tells_which_wildcards_it_loses(
    dialect: str, source: str, template: str, lost: tuple[int, ...]
) -> None:
    """A wildcard is kept when its whole text can always be read back."""
    assert Template(template, Pattern(source, dialect)).loses == lost


@pytest.mark.parametrize("dialect", NAMES)
def test_a_template_of_all_captures_loses_nothing_it_says_it_keeps(dialect: str) -> None:
    """Whatever two subjects are told apart by a kept wildcard alone are told apart by the results."""

    @given(patterns(dialect), subjects(dialect), subjects(dialect))
    def check(pattern: Pattern, one: Subject, other: Subject) -> None:
        count = len(pattern.captures(one) or ())
        text = pattern.dialect.separator.join(["x", *(f"${number}" for number in range(1, count + 1))])
        try:
            rule = Template(text, pattern)
            made, made_other = rule.apply(one), rule.apply(other)
        except PointsmanError:
            return
        if made is not None and made_other is not None and not rule.loses and one != other:
            assert made != made_other

    check()


@given(st.text(alphabet="$1{}()wildcarpt,. >*é-", max_size=30))
def test_only_template_errors_come_out_of_arbitrary_templates(text: str) -> None:
    """Whatever is written, it works or is refused as a template."""
    try:
        Template(text, Pattern("a.*.*"))
    except TemplateError as error:
        assert error.column is not None


def test_the_partition_is_the_fnv_1a_hash_of_the_bytes() -> None:
    """Known values of the 32-bit hash, also for text that is not ASCII."""
    everything = 2**32
    assert f.partition("", everything) == ["2166136261"]
    assert f.partition("a", everything) == ["3826002220"]
    assert f.partition("foobar", everything) == ["3214735720"]
    assert f.partition("é", everything) == [f.partition("é", everything)[0]]
    assert repr(Template("$1", Pattern("*"))) == "Template('$1', Pattern('*', dialect='nats'))"


def test_random_is_one_of_so_many_numbers_by_the_source_of_chance() -> None:
    """Each as likely as the other, from 0 up; without a source, a real one is asked."""
    rule = Template("bar.{{random(3)}}.$1", Pattern("foo.*"))
    chances = iter([0.0, 0.5, 0.999])
    assert [rule.apply("foo.a", chances.__next__) for _ in range(3)] == ["bar.0.a", "bar.1.a", "bar.2.a"]
    assert {rule.apply("foo.a") for _ in range(200)} == {"bar.0.a", "bar.1.a", "bar.2.a"}
    assert rule.is_random
    assert not Template("bar.$1", Pattern("foo.*")).is_random
    assert rule.loses == ()
