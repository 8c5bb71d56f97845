"""Arguments and options that commands share, and what they say in --help."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Annotated, Any, NamedTuple

import typer

DATA = (
    "CSV, Parquet, Arrow, Excel or JSON lines files, folders of them, patterns such as 'part-*.parquet', or - for "
    "standard input."
)
POLICIES = ["impute", "refuse", "drop"]
Data = Annotated[list[str], typer.Argument(help=DATA, metavar="DATA", show_default=False)]
Model = Annotated[
    str, typer.Argument(help="A file of skewridge fit or save_model.", metavar="MODEL", show_default=False)
]
Target = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict.", show_default=False)
]
Estimator = Annotated[
    str,
    typer.Option(
        "--estimator",
        "-e",
        metavar="NAME",
        help="skew (recommended), adaptive (small model, less memory), local (cells alone) or dac (the paper).",
        autocompletion=lambda: ["skew", "adaptive", "local", "dac"],
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter of the estimator: 'penalty=0.01'. May be repeated.",
        show_default=False,
    ),
]
ModelOutput = Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="Where the model goes.")]
Seed = Annotated[int, typer.Option(metavar="N", help="The same seed gives the same model.", min=0)]
Features = Annotated[
    str | None,
    typer.Option(metavar="COLUMNS", help="Columns to predict from, with commas between them. Default: all others."),
]
Exclude = Annotated[str | None, typer.Option(metavar="COLUMNS", help="Columns to leave out, with commas between them.")]
Categorical = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMNS", help="Columns that are categories though they hold numbers, with commas between them."
    ),
]
Ordinal = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN[=LEVELS]",
        help="A column with an order: 'size=S,M,L', lowest first, or 'grade' for alphabetical order.",
        show_default=False,
    ),
]
MaxCategories = Annotated[
    int,
    typer.Option(
        metavar="N", help="Text columns with more different texts become the mean response of each text.", min=1
    ),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help="What a column is: number, boolean, category, means, ordinal, date, duration or drop. Default: found out.",
        show_default=False,
    ),
]
Weight = Annotated[str | None, typer.Option(metavar="COLUMN", help="How often each row occurs, 0 or more; no feature.")]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Rows of one value belong together (a patient, a site), and new rows come with others; no feature.",
    ),
]
Time = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Times or numbers along which new rows come later; no feature."),
]
Missing = Annotated[
    str,
    typer.Option(
        metavar="POLICY",
        help="Missing values: impute (median, and a column that tells), refuse, or drop the rows.",
        autocompletion=lambda: POLICIES,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="Between the columns of a CSV file. Default: found in its first rows."),
]
Decimal = Annotated[
    str | None, typer.Option(metavar="SIGN", help="The decimal sign of a CSV file, . or , Default: found.")
]
Encoding = Annotated[
    str | None, typer.Option(metavar="NAME", help="The encoding of a CSV file, say cp1252. Default: found.")
]
Sheet = Annotated[str | None, typer.Option(metavar="NAME", help="The sheet of an Excel file. Default: the first.")]
Holdout = Annotated[
    float | None,
    typer.Option(
        metavar="SHARE",
        help="Rows to judge the model by, which it is not fitted to; 0 for none. Default: 0.1 from 1,000 rows on.",
    ),
]
Page = Annotated[
    str | None,
    typer.Option(
        "--report", metavar="FILE", help="Where the page on held-out rows goes. Default: MODEL with the ending .html."
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", metavar="N", help="Threads; -1 for all. The result is the same.")]
Limit = Annotated[str | None, typer.Option(metavar="BYTES", help="Refuse what needs more memory, such as 2GB.")]
Truth = Annotated[
    str | None,
    typer.Option("--target", "-t", metavar="COLUMN", help="The column with the truth. Default: the one fitted to."),
]
MissingAsFitted = Annotated[
    str | None,
    typer.Option(
        metavar="POLICY",
        help="As in fit. Default: what the model was fitted with.",
        autocompletion=lambda: POLICIES,
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object on stdout.")]
Escape = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="Put ' before texts in CSV that begin with =, +, -, @, a tab or a return, which spreadsheets may run.",
    ),
]


class Reading(NamedTuple):
    """What was said about how to read files; None is found from each."""

    delimiter: Delimiter = None
    decimal: Decimal = None
    encoding: Encoding = None
    sheet: Sheet = None


FOUND = Reading()


def reads_tables(app: typer.Typer) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a command whose parameter ``reading`` stands for the options of :class:`Reading`."""

    def enter(command: Callable[..., None]) -> Callable[..., None]:
        def entered(**values: Any) -> None:
            said = Reading(**{name: values.pop(name) for name in Reading._fields})
            command(**values, reading=said)

        own = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind)
            for name, kind in Reading.__annotations__.items()
        ]
        others = signature(command)
        listed = [
            shown
            for other in others.parameters.values()
            for shown in (own if other.name == "reading" else [other.replace(kind=Parameter.KEYWORD_ONLY)])
        ]
        entered.__name__, entered.__doc__ = command.__name__, command.__doc__
        entered.__signature__ = others.replace(parameters=listed)  # type: ignore[attr-defined]
        entered.__annotations__ = {shown.name: shown.annotation for shown in listed}
        return app.command()(entered)

    return enter
