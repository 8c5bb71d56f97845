"""skewridge diagnose, plan and demo."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skewridge._typing import FloatArray
from skewridge.cli._options import Reading
from skewridge.cli._reading import find_files, read_tables
from skewridge.cli._screen import Answer, Screen
from skewridge.cli._table import with_target
from skewridge.tables.columns import as_frame, check_columns


def diagnose_table(data: Sequence[str], target: str, reading: Reading | None, screen: Screen) -> Answer:
    """Tell whether a response is skewed enough to matter."""
    from skewridge import diagnose

    features, y = _response(data, target, reading, screen)
    found = diagnose(y, features)
    return Answer(found.to_dict(), [str(found)])


def plan_table(
    data: Sequence[str],
    target: str,
    nodes: int | None,
    jobs: int,
    memory_limit: str | None,
    reading: Reading | None,
    screen: Screen,
) -> Answer:
    """Tell what fits would need."""
    from skewridge import plan

    features, y = _response(data, target, reading, screen)
    found = plan(y, features, n_nodes=nodes or "auto", n_jobs=jobs, memory_limit=memory_limit)
    return Answer(found.to_dict(), [str(found)])


def show_demo(folder: str, screen: Screen) -> Answer:
    """Run the demonstration, which prints as it goes where people read."""
    from skewridge.demo import main

    return Answer(main(folder, say=lambda text: None) if screen.as_json else main(folder))


def _response(data: Sequence[str], target: str, reading: Reading | None, screen: Screen) -> tuple[Any, FloatArray]:
    """The other columns, of which only the number matters here, and the response where it is known."""
    frame = as_frame(read_tables(find_files(data), named=[target], reading=reading, say=screen.note))
    check_columns([target], frame.columns)
    frame, y = with_target(frame, target, "drop", screen)
    return frame.drop(columns=target), y
