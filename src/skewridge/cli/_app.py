"""The commands and their options. What they do is in modules of their own, imported when a command runs.

To add a command: write a function that takes a :class:`~._screen.Screen` and returns an :class:`~._screen.Answer` in a
module of its own; give it a function with its options whose ``work`` imports it, and hand that to ``run``. Commands to
fit and to predict are here, those that judge a model in `_judging_commands.py`, those before a fit in
`_advice_commands.py`.
"""

from typing import Annotated

import typer

from skewridge._version import __version__
from skewridge.cli._advice_commands import demo, diagnose, plan
from skewridge.cli._judging_commands import compare, evaluate, explain, info, report
from skewridge.cli._options import (
    FOUND,
    Categorical,
    Data,
    Escape,
    Estimator,
    Exclude,
    Features,
    Groups,
    Holdout,
    Jobs,
    Json,
    Kinds,
    Limit,
    MaxCategories,
    Missing,
    Model,
    ModelOutput,
    Ordinal,
    Page,
    Parameters,
    Reading,
    Seed,
    Target,
    Time,
    Weight,
    reads_tables,
)
from skewridge.cli._screen import Answer, Screen, run

HELP = """Kernel ridge regression for large data whose response is skewed.

From a table to predictions: skewridge fit houses.csv --target price, then
skewridge predict model.skr new.csv. Tables are CSV, Parquet, Arrow, Excel or JSON
lines files, patterns included.

Exit codes: 0 done, 1 something is wrong with data, files or settings, 2 the command
is not understood, 3 a bug, 130 interrupted. A command that fails changes no file.
"""

app = typer.Typer(help=HELP, no_args_is_help=True, pretty_exceptions_enable=False, rich_markup_mode=None)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None: ...


@reads_tables(app)
def fit(
    data: Data,
    target: Target,
    features: Features = None,
    exclude: Exclude = None,
    estimator: Estimator = "skew",
    output: ModelOutput = "model.skr",
    missing: Missing = "impute",
    categorical: Categorical = None,
    ordinal: Ordinal = None,
    max_categories: MaxCategories = 30,
    kind: Kinds = None,
    weight: Weight = None,
    groups: Groups = None,
    time: Time = None,
    param: Parameters = None,
    holdout: Holdout = None,
    report: Page = None,
    seed: Seed = 0,
    jobs: Jobs = -1,
    memory_limit: Limit = None,
    reading: Reading = FOUND,
    json: Json = False,
) -> None:
    """Fit a model to a table and save it."""

    def work(screen: Screen) -> Answer:
        from skewridge.cli._fit import FitRequest, fit_table
        from skewridge.cli._roles import Roles
        from skewridge.cli._table import TableRequest

        roles = Roles(weight, groups, time)
        table = TableRequest(
            data, target, features, exclude, missing, categorical, ordinal, max_categories, reading, kind, roles
        )
        return fit_table(FitRequest(table, estimator, output, param, seed, jobs, memory_limit, holdout, report), screen)

    run(work, json)


@reads_tables(app)
def predict(
    model: Model,
    data: Data,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="A .csv, .tsv or .parquet file, or - for CSV on stdout."),
    ] = "predictions.csv",
    std: Annotated[
        bool,
        typer.Option(
            "--std",
            help="Add a column std: the standard deviation of the response (skew, local), or of the estimate "
            "(adaptive, dac).",
        ),
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(metavar="COVERAGE", help="Add columns low and high that hold the response so often, say 0.9."),
    ] = None,
    quantiles: Annotated[
        str | None,
        typer.Option(metavar="LEVELS", help="Add a column of each quantile, say 0.5,0.9,0.99: q0.5, q0.9, q0.99."),
    ] = None,
    exceeds: Annotated[
        str | None,
        typer.Option(metavar="VALUES", help="Add the probability of more than each value, say 1e6: p_above_1e6."),
    ] = None,
    keep: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMNS", help="Columns of DATA to copy to the output, with commas between them, or * for all."
        ),
    ] = None,
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="POLICY",
            help="As in fit; drop leaves the prediction empty. Default: what the model was fitted with.",
        ),
    ] = None,
    escape_formulas: Escape = False,
    jobs: Jobs = -1,
    reading: Reading = FOUND,
    json: Json = False,
) -> None:
    """Predict every row of a table.

    The output has one row for every row of DATA, in the same order, and a column prediction.
    """

    def work(screen: Screen) -> Answer:
        from skewridge.cli._likely import Likely
        from skewridge.cli._predict import PredictRequest, predict_table
        from skewridge.cli._writing import Output

        request, likely = PredictRequest(model, data, missing, jobs, reading), Likely(interval, quantiles, exceeds)
        return predict_table(request, Output(output, escape_formulas), std, keep, likely, screen)

    run(work, json)


for reading in (evaluate, compare, explain, report, diagnose, plan):
    reads_tables(app)(reading)
for other in (info, demo):
    app.command()(other)
