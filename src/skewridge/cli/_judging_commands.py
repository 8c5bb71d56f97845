"""The commands that judge or describe a fitted model, and their options. They are entered in `_app.py`."""

from typing import Annotated

import typer

from skewridge.cli._options import DATA, FOUND, Data, Jobs, Json, MissingAsFitted, Model, Reading, Truth
from skewridge.cli._screen import Answer, Screen, run


def evaluate(
    model: Model,
    data: Data,
    target: Truth = None,
    missing: MissingAsFitted = None,
    jobs: Jobs = -1,
    reading: Reading = FOUND,
    json: Json = False,
) -> None:
    """Measure errors, overall and where rare.

    Take rows that the model has not seen. What is rare is decided by the response that the model was fitted to.
    """

    def work(screen: Screen) -> Answer:
        from skewridge.cli._evaluate import evaluate_table
        from skewridge.cli._predict import PredictRequest

        return evaluate_table(PredictRequest(model, data, missing, jobs, reading), target, screen)

    run(work, json)


def compare(
    files: Annotated[
        list[str],
        typer.Argument(
            help="Two or more files of skewridge fit, then files of rows as in the other commands.",
            metavar="MODEL MODEL... DATA",
            show_default=False,
        ),
    ],
    target: Truth = None,
    missing: MissingAsFitted = None,
    jobs: Jobs = -1,
    reading: Reading = FOUND,
    json: Json = False,
) -> None:
    """Compare models on the same rows.

    Errors overall and where rare, side by side, and by how much the others differ from the first model, with standard
    errors. Take rows that no model has seen.
    """

    def work(screen: Screen) -> Answer:
        from skewridge.cli._compare import compare_models
        from skewridge.cli._predict import PredictRequest

        return compare_models(files, PredictRequest("", [], missing, jobs, reading), target, screen)

    run(work, json)


def explain(
    model: Model,
    data: Annotated[list[str] | None, typer.Argument(help=DATA, metavar="[DATA]", show_default=False)] = None,
    row: Annotated[
        int | None, typer.Option(metavar="N", help="Explain the prediction of this row of DATA, 1 being the first.")
    ] = None,
    target: Truth = None,
    missing: MissingAsFitted = None,
    jobs: Jobs = -1,
    reading: Reading = FOUND,
    json: Json = False,
) -> None:
    """Tell what drives a model, or one prediction.

    By column of the table as it came, overall and where the response is rare, with the direction in words. Take rows
    that the model has not seen. With --row: one prediction, its interval, which columns push it up or down, and how
    near the rows of the fit are.
    """

    def work(screen: Screen) -> Answer:
        from skewridge.cli._explain import explain_model
        from skewridge.cli._predict import PredictRequest

        return explain_model(PredictRequest(model, data or [], missing, jobs, reading), target, row, screen)

    run(work, json)


def report(
    model: Model,
    data: Data,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where the page goes.")] = "report.html",
    target: Truth = None,
    missing: MissingAsFitted = None,
    jobs: Jobs = -1,
    reading: Reading = FOUND,
    json: Json = False,
) -> None:
    """Tell about a model on one page.

    The response, what was done, errors overall and where rare, cost, and how to do it again. Take rows that the model
    has not seen.
    """

    def work(screen: Screen) -> Answer:
        from skewridge.cli._predict import PredictRequest
        from skewridge.cli._report import report_table

        return report_table(PredictRequest(model, data, missing, jobs, reading), target, output, screen)

    run(work, json)


def info(model: Model, json: Json = False) -> None:
    """Tell what is in a model file."""

    def work(screen: Screen) -> Answer:
        from skewridge.cli._info import describe

        return describe(model)

    run(work, json)
