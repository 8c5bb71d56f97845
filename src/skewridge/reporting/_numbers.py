"""Numbers for people, and round numbers for axes."""

from __future__ import annotations

import math

MINUS, TIMES = "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"
NONE = "\N{EN DASH}"
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def number(value: float | None, digits: int = 3) -> str:
    """Write a number with so many significant digits, whole ones in full; a dash for none.

    Examples
    --------
    >>> [number(v) for v in (None, 0, 12, 6784, 0.0312345, -2.5, 1.234e-7, 3.21e12)]
    ['–', '0', '12', '6,784', '0.0312', '−2.5', '1.23×10⁻⁷', '3.21×10¹²']
    >>> number(1_234_567), number(1_234_567.0), number(1e-5)  # whole numbers are counts
    ('1,234,567', '1.23×10⁶', '10⁻⁵')
    """
    if value is None or not math.isfinite(value):
        return NONE
    power = math.floor(math.log10(abs(value))) if value else 0
    if not -4 <= power < (9 if isinstance(value, int) else 6):
        head, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        head = f"{_trimmed(head)}{TIMES}".removeprefix(f"1{TIMES}")
        return f"{head}10{str(int(exponent)).translate(_RAISED)}".replace("-", MINUS)
    places = 0 if value == int(value) else max(0, digits - 1 - power)
    return _trimmed(f"{value:,.{places}f}").replace("-", MINUS)


def amount(value: float | None, digits: int = 3) -> str:
    """Write an amount of the response: three digits, in full up to a billion.

    Examples
    --------
    >>> [amount(v) for v in (None, 274213.4, 1_168_556.2, 0.031234, -0.0, 3.2e12)]
    ['–', '274,000', '1,170,000', '0.0312', '0', '3.2×10¹²']
    """
    if value is None or not math.isfinite(value):
        return NONE
    near = rounded(value, digits)
    return number(int(near) if near == int(near) and abs(near) < 1e9 else near, digits)


def percent(share: float | None) -> str:
    """Write a share in per cent, with three digits at most.

    Examples
    --------
    >>> [percent(v) for v in (None, 0.5, 0.01934, 1e-6, 2.5)]
    ['–', '50%', '1.93%', '0.0001%', '250%']
    """
    return NONE if share is None else f"{number(100 * share)}%"


def span(low: float, high: float) -> str:
    """Write an interval with enough digits to tell its ends apart.

    Examples
    --------
    >>> span(0.0, 0.25), span(27000.2, 27111.3), span(-1.0, 2.0)
    ('0 to 0.25', '27,000 to 27,111', '−1 to 2')
    """
    if low == high:
        return number(low)
    digits = _apart(low, high)
    return f"{number(low, digits)} to {number(high, digits)}"


def amounts(low: float, high: float) -> str:
    """Write an interval of the response, in full up to a billion.

    Examples
    --------
    >>> amounts(1_234_567.0, 2_345_678.0), amounts(0.5, 0.75)
    ('1,230,000 to 2,350,000', '0.5 to 0.75')
    """
    return amount(low) if low == high else f"{amount(low, _apart(low, high))} to {amount(high, _apart(low, high))}"


def labels(values: list[float]) -> list[str]:
    """Write numbers with the fewest digits that tell them apart.

    Examples
    --------
    >>> labels([144.62336, 144.80403]), labels([1.0, 25.0])
    (['144.6', '144.8'], ['1', '25'])
    """
    made = [[amount(value, digits) for value in values] for digits in range(3, 10)]
    return next((told for told in made if len(set(told)) == len(values)), made[-1])


def counted(n: int, what: str) -> str:
    """Write how many there are.

    Examples
    --------
    >>> counted(1, "row"), counted(2500, "row")
    ('1 row', '2,500 rows')
    """
    return f"{number(n)} {what}{'' if n == 1 else 's'}"


def tick(value: float) -> str:
    """Write a label of an axis: in full where that is short."""
    return amount(value) if abs(value) < 1e7 else number(value)


def linear_ticks(low: float, high: float, most: int = 5) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten in [low, high].

    Examples
    --------
    >>> linear_ticks(0, 9.3)
    [0.0, 2.0, 4.0, 6.0, 8.0]
    """
    raw = (high - low) / most
    if not raw > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * m for m in (1, 2, 5, 10) if power * m >= raw * (1 - 1e-9))
    return [i * step for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Return powers of ten in [low, high], every so many of them; also 2 and 5 times them, or any, where there are few.

    Examples
    --------
    >>> log_ticks(0.5, 2000), log_ticks(3, 30)
    ([1.0, 10.0, 100.0, 1000.0], [5.0, 10.0, 20.0])
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, -(-(last - first) // most))
    tens = [10.0**p for p in range(first, last + 1) if p % every == 0 and low <= 10.0**p <= high]
    fine = [m * 10.0**p for p in range(first, last + 1) for m in (1, 2, 5) if low <= m * 10.0**p <= high]
    few = [ticks for ticks in (fine, tens) if 2 < len(ticks) <= most + 1]
    return few[0] if few else linear_ticks(low, high, most)


def rounded(value: float, digits: int = 1) -> float:
    """Return the nearest number with so many significant digits."""
    return float(f"{value:.{digits - 1}e}")


def _apart(low: float, high: float) -> int:
    """How many digits tell two numbers apart."""
    return min(15, max(3, 2 + math.ceil(math.log10(max(abs(low), abs(high)) / (high - low)))))


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
