"""Numbers as people write them: decimal signs, and what stands between thousands.

Shared by the reader, which finds the decimal sign of a file, and by tables, which read columns of texts.
"""

from __future__ import annotations

import re
from typing import Any

SPACES = " '\u00a0\u202f_"  # between thousands, whatever the decimal sign
DECIMALS = (".", ",")
OTHER = {".": ",", ",": "."}  # the sign that may stand between thousands
FORMS = {
    decimal: rf"[+-]?(([1-9]\d{{0,2}}([{other}{SPACES}]\d{{3}})+|\d+)(\{decimal}\d*)?|\{decimal}\d+)([eE][+-]?\d+)?"
    for decimal, other in OTHER.items()
}
_PATTERNS = {decimal: re.compile(form, re.ASCII) for decimal, form in FORMS.items()}


def is_number(text: str, decimal: str) -> bool:
    """Whether a text is a number under a decimal sign.

    Examples
    --------
    >>> [is_number(text, ",") for text in ("1.234,5", "1,5", "1.5", "0,123", "12 500", "x")]
    [True, True, False, True, True, False]
    """
    return _PATTERNS[decimal].fullmatch(text) is not None


def plain_number(text: str, decimal: str) -> str:
    """A number as computers write it.

    Examples
    --------
    >>> plain_number("1.234,5", ",")
    '1234.5'
    """
    return re.sub(rf"[{SPACES}{OTHER[decimal]}]", "", text).replace(",", ".")


def plain_numbers(texts: Any, decimal: str) -> Any:
    """The same of all texts of a column of pyarrow that are numbers; others stay as they are.

    Examples
    --------
    >>> import pyarrow as pa
    >>> plain_numbers(pa.array(["1.234,5", "unknown", "0,5"]), ",").to_pylist()
    ['1234.5', 'unknown', '0.5']
    """
    import pyarrow.compute as pc

    plain = pc.replace_substring_regex(texts, f"[{SPACES}{OTHER[decimal]}]", "")
    return pc.if_else(are_numbers(texts, decimal), pc.replace_substring(plain, ",", "."), texts)


def are_numbers(texts: Any, decimal: str) -> Any:
    """Which texts of a column of pyarrow are numbers under a decimal sign."""
    import pyarrow.compute as pc

    return pc.match_substring_regex(texts, f"^({FORMS[decimal]})$")
