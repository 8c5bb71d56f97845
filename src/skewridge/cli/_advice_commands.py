"""The commands that advise before a fit, and the demonstration. They are entered in `_app.py`."""

from typing import Annotated

import typer

from skewridge.cli._options import FOUND, Data, Jobs, Json, Limit, Reading, Target
from skewridge.cli._screen import Answer, Screen, run


def diagnose(
    data: Data,
    target: Target,
    reading: Reading = FOUND,
    json: Json = False,
) -> None:
    """Tell whether a response is skewed.

    And whether that matters, and what to do about it.
    """

    def work(screen: Screen) -> Answer:
        from skewridge.cli._advise import diagnose_table

        return diagnose_table(data, target, reading, screen)

    run(work, json)


def plan(
    data: Data,
    target: Target,
    nodes: Annotated[
        int | None, typer.Option(metavar="N", help="Nodes of divide and conquer. Default: chosen.", min=1)
    ] = None,
    jobs: Jobs = -1,
    memory_limit: Limit = None,
    reading: Reading = FOUND,
    json: Json = False,
) -> None:
    """Tell what a fit needs before any work.

    Memory and seconds of SkewRidge, of its global fit alone, of divide and conquer, and of the exact fit.
    """

    def work(screen: Screen) -> Answer:
        from skewridge.cli._advise import plan_table

        return plan_table(data, target, nodes, jobs, memory_limit, reading, screen)

    run(work, json)


def demo(
    folder: Annotated[str, typer.Argument(help="Where the picture goes.")] = "demo_output",
    json: Json = False,
) -> None:
    """Compare the estimators on built-in data."""

    def work(screen: Screen) -> Answer:
        from skewridge.cli._advise import show_demo

        return show_demo(folder, screen)

    run(work, json)
