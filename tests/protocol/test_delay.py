from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sipbench.protocol.delay import Delay, duration_text, moment_text, parse_delay

END = datetime(2026, 12, 1, 13, 50, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "hours"),
    [("7d", 168), ("36h", 36), ("1d12h", 36), ("2w", 336), ("90m", 1.5), ("1w1d1h1m36s", 193 + 96 / 3600)],
)
def test_a_length_counts_from_the_end_of_t1(text: str, hours: float) -> None:
    delay = parse_delay(text)
    assert delay.seconds == pytest.approx(hours * 3600)
    assert delay.due(END) == END + timedelta(hours=hours)
    assert delay.due(None) is None
    assert delay.words() == f"at least {text} after the last score at T1"


@pytest.mark.parametrize(
    "text", ["2026-12-08T13:50:00Z", "2026-12-08T14:50:00+01:00", "2026-12-08 13:50:00+00:00"]
)
def test_a_moment_counts_from_nothing(text: str) -> None:
    delay = parse_delay(text)
    assert delay.seconds is None
    assert delay.due(None) == delay.due(END) == END + timedelta(days=7)
    assert delay.words() == "not before 2026-12-08T13:50:00Z"


def test_a_due_moment_has_whole_seconds_and_is_never_too_early() -> None:
    due = parse_delay("1h").due(END + timedelta(milliseconds=1))
    assert due == END + timedelta(hours=1, seconds=1)
    assert moment_text(END + timedelta(microseconds=1)) == "2026-12-01T13:50:01Z"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("7", "expected a length such as 7d"),
        ("", "expected a length such as 7d"),
        ("-7d", "expected a length such as 7d"),
        ("1h1d", "expected a length such as 7d"),
        ("soon", "expected a length such as 7d"),
        ("2026-12-08", "expected a length such as 7d"),
        ("2026-12-08T13:50:00", "names no time zone"),
        ("0001-01-01T00:00:00+10:00", "no moment that can be reckoned with"),
        ("0d", "a delay of 0 is none"),
        ("999999999w", "longer than 3650 days"),
        ("٧d", "expected a length such as 7d"),
    ],
)
def test_what_is_no_delay_is_refused(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse_delay(text)


def test_an_end_in_the_last_year_does_not_overflow() -> None:
    due = parse_delay("3650d").due(datetime(9999, 12, 31, tzinfo=UTC))
    assert due is not None
    assert due.year == 9999


@given(st.datetimes(timezones=st.just(UTC), max_value=datetime(9000, 1, 1)), st.integers(1, 10**8))
def test_t2_is_due_no_earlier_than_declared_and_less_than_a_second_later(end: datetime, seconds: int) -> None:
    due = Delay(f"{seconds}s", length=timedelta(seconds=seconds)).due(end)
    assert due is not None
    assert timedelta(0) <= due - end - timedelta(seconds=seconds) < timedelta(seconds=1)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.43, "0.4 s"),
        (12.4, "12 s"),
        (63, "1 min 3 s"),
        (3600, "1 h"),
        (7 * 86_400 + 7200 + 59, "7 d 2 h"),
        (-90, "-1 min 30 s"),
        (86_400 + 5, "1 d"),
    ],
)
def test_a_span_is_written_by_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_a_moment_in_the_last_second_that_there_is_can_be_written() -> None:
    assert moment_text(datetime.max.replace(tzinfo=UTC)) == "9999-12-31T23:59:59Z"
