"""Numbers in tables for people."""

from __future__ import annotations

LARGEST = 1e9  # from here on a power of ten is shorter
DIGITS = 4


def in_full(value: float | None, *, sign: bool = False) -> str:
    """Write four digits of a number, without a power of ten below a billion; counts as they are, a dash for none.

    Examples
    --------
    >>> [in_full(value) for value in (None, 24_522, 273_323.4, 2291.3, 0.81994, -4.269, 7.302e10)]
    ['-', '24,522', '273,300', '2291', '0.8199', '-4.269', '7.302e+10']
    >>> in_full(13_360.2, sign=True)
    '+13,360'
    """
    if value is None:
        return "-"
    plus = "+" if sign else ""
    if isinstance(value, int):
        return f"{value:{plus},}"
    near = float(f"{value:.{DIGITS}g}")
    return f"{near:{plus},.0f}" if 10**DIGITS <= abs(near) < LARGEST else f"{near:{plus}.{DIGITS}g}"
