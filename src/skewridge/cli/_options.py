"""Arguments and options that commands share, and what they say in --help."""

from typing import Annotated

import typer

DATA = "CSV or Parquet files, folders of them, or patterns such as 'part-*.parquet'."
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
    typer.Option(metavar="TEXT", help="Between the columns of a CSV file. Default: a comma, or a tab in .tsv files."),
]
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
