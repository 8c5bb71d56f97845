"""How the pictures look: one style a method, colours that all can tell apart, standard errors always shown."""

from io import BytesIO

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from effects import select, summary
from matplotlib.ticker import NullLocator
from PIL import Image

matplotlib.rcParams.update({"font.size": 8, "axes.titlesize": 9, "figure.titlesize": 11})

BLUE, RED, GREEN, YELLOW, CYAN, PURPLE, GRAY = (
    "#4477AA", "#CC3311", "#228833", "#CCBB44", "#33BBEE", "#AA3377", "#777777",
)  # fmt: skip

DPI = 170
LABEL_WIDTH = 2.2  # inches of a legend's column
N_COLOURS = 64  # of a picture: a third of the bytes, and the eye sees no difference

# method -> label, colour, line, marker; tau below 1 are dashed or dotted reds, as in the paper
STYLES = {
    "classical": ("classical", BLUE, "-", "o"),
    "equal cost": ("classical, equal cost", BLUE, "--", "v"),
    "full": ("full", "black", "-", "x"),
    "oversampled": ("oversampled (Scott, τ = 1)", RED, "-", "s"),
    "tau=1/2": ("τ = 1/2", RED, "--", "<"),
    "tau=1/3": ("τ = 1/3", RED, "-.", ">"),
    "tau=1/4": ("τ = 1/4", RED, ":", "^"),
    "tau=1/5": ("τ = 1/5", RED, (0, (1, 3)), "d"),
    "l=3": ("Algorithm 2, l = 3", RED, ":", "D"),
    "l=5": ("l = 5", GRAY, "-", "^"),
    "l=10": ("l = 10", GRAY, "--", "v"),
    "sturges": ("Sturges", CYAN, "-", "D"),
    "fd": ("Freedman-Diaconis", YELLOW, "-", "P"),
    "breaks": ("authors' breaks, downsampled", CYAN, "-", "D"),
    "focus": ("oversampled, focus 1/2", PURPLE, "--", "h"),
    "pilot": ("pilot slices, focus 1/2", PURPLE, "-", "p"),
    "adaptive": ("adaptive centres", GREEN, "-", "*"),
    "adaptive knots": ("one spline, adaptive knots", GREEN, "-", "*"),
    "adaptive gaussian": ("adaptive centres, gaussian", GREEN, "--", "*"),
}
HOLLOW = ("equal cost", "l=3", "focus", "adaptive gaussian")  # dots that share their colour and shape with others
VERSION_NAMES = {
    "rule": r"as published, penalty $1/N$",
    "node": r"as published, penalty $n^{-2/3}$",
    "code": r"authors' code, ridge $n^{-2/3}$",
    "tuned": "tuned",
}
VERSION_STYLES = {
    "rule": (BLUE, "-", "o"),
    "node": (RED, "--", "s"),
    "code": (PURPLE, "-.", "^"),
    "tuned": (GREEN, ":", "D"),
}
COLUMN_NAMES = {
    "mse": "MSE",
    "rare_mse": "MSE, rare region",
    "rare_predicted_mse": "MSE, rare by prediction",
    "seconds": "CPU seconds",
    "flops": "flops of a fit",
}


def panels(n_rows, n_columns, width=2.4, height=2.1, **more):
    """A grid of axes, so small that the text can still be read where four of them are as wide as a page."""
    size = (width * n_columns + 0.4, height * n_rows + 0.6)
    return plt.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained", **more)


def curve(ax, table, x, column, method, **more):
    """One method's mean along x with bars of one standard error."""
    if table.empty:
        return
    label, colour, line, marker = STYLES[method]
    told = summary(table, x, column)
    style = {"color": colour, "linestyle": line, "marker": marker, "label": label, "markersize": 4, "capsize": 2}
    ax.errorbar(told[x], told["mean"], told["error"], linewidth=1.3, elinewidth=0.9, **{**style, **more})


def version_curve(ax, places, means, errors, version, **more):
    """One version's means with bars of one standard error."""
    colour, line, marker = VERSION_STYLES[version]
    style = {"color": colour, "linestyle": line, "marker": marker, "markersize": 3.5, "capsize": 2, "linewidth": 1.2}
    ax.errorbar(places, means, errors, label=VERSION_NAMES[version], **{**style, **more})


def log_along(ax, numbers, label):
    """A logarithmic axis below, with the numbers that were run as ticks."""
    ax.set(xscale="log", xlabel=label)
    ax.minorticks_off()
    ax.set_xticks(numbers, [f"{number:,.0f}" if number >= 1 else f"{number:.2g}" for number in numbers])


def logarithmic(ax, values):
    """A logarithmic axis, where there is anything to show."""
    if (values > 0).any():
        ax.set_yscale("log")
    else:
        ax.text(0.5, 0.5, "no such row", transform=ax.transAxes, ha="center")


def level(ax, table, column, method):
    """One method's mean as a line across, its standard error as a band."""
    if table.empty:
        return
    label, colour, line, _ = STYLES[method]
    mean = table[column].mean()
    ax.axhline(mean, color=colour, linestyle=line, linewidth=1.3, label=label)
    if len(table) > 1:  # a single replicate has no standard error
        error = table[column].std(ddof=1) / np.sqrt(len(table))
        ax.axhspan(mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)


def dots(ax, places, told, method):
    """Means with bars of one standard error, without lines."""
    label, colour, _, marker = STYLES[method]
    size, face = 9 if marker == "*" else 5, "none" if method in HOLLOW else colour
    ax.errorbar(places, told["mean"], told["error"], fmt=marker, color=colour, markerfacecolor=face, markersize=size,
                capsize=2, label=label)  # fmt: skip


def by_version(ax, table, column, methods):
    """Every method's mean and standard error in every version, side by side."""
    told = summary(table, ["method", "version"], column).set_index(["method", "version"])
    places = np.arange(len(VERSION_NAMES))
    for shift, method in zip(np.linspace(-0.3, 0.3, len(methods)), methods, strict=True):
        values = told.loc[method].reindex(VERSION_NAMES)
        dots(ax, places + shift, values, method)
    logarithmic(ax, table[column])
    ax.set_ylabel(COLUMN_NAMES[column])
    ax.set_xticks(places, ("$1/N$", "$n^{-2/3}$", "code", "tuned"))


def against_flops(axes, table, columns=("mse", "rare_mse")):
    """Error against operations, one point a method, for two columns of the table on two axes."""
    for ax, column in zip(axes, columns, strict=True):
        for method in (m for m in STYLES if m in set(table["method"])):
            part = table[table["method"] == method]
            dots(ax, part["flops"].mean(), summary(part, "method", column), method)
        logarithmic(ax, table[column])
        ax.set(xscale="log", xlabel=COLUMN_NAMES["flops"], ylabel=COLUMN_NAMES[column])
        few_ticks(ax.xaxis)


# leading digits of ticks on a logarithmic axis: the first of these that gives two
TICKED = (
    (1,),
    (1, 3),
    (1, 2, 5),
    (1, 1.5, 2, 3, 4, 5, 7),
    (1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9),
    tuple(fifths / 5 for fifths in range(5, 50)),
)


def few_ticks(axis):
    """Powers of ten on a logarithmic axis; where less than two are in view, as many numbers between as have room."""
    low, high = axis.get_view_interval()
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))))
    for digits in TICKED:
        ticks = {digit * 10.0**power: (digit, power) for power in powers for digit in digits}
        shown = {tick: parts for tick, parts in ticks.items() if low <= tick <= high}
        if len(shown) > 1:
            break
    axis.set_ticks(list(shown), numbered(shown))
    axis.set_minor_locator(NullLocator())


def numbered(ticks):
    """Labels of {tick: (digit, power)}: plain where all numbers are near 1, otherwise with powers of ten."""
    if all(0.1 <= tick <= 1000 for tick in ticks):
        return [f"{tick:g}" for tick in ticks]
    factors = [("" if digit == 1 else rf"{digit:g} \times ") for digit, _ in ticks.values()]
    return [f"${factor}10^{{{power}}}$" for factor, (_, power) in zip(factors, ticks.values(), strict=True)]


def errors_and_costs(tables, methods, folder, name):
    """A picture with a line a table: errors in every version, then errors against operations when tuned."""
    figure, axes = panels(len(tables), 4, width_ratios=[1.2, 1.2, 1, 1])
    for line, (title, table) in zip(axes, tables.items(), strict=True):
        for ax, column in zip(line[:2], ("mse", "rare_mse"), strict=True):
            by_version(ax, table, column, methods)
            ax.set_title(title)
        against_flops(line[2:], select(table, version="tuned"))
        for ax in line[2:]:
            ax.set_title(f"{title}, tuned")
    legend(figure, axes)
    save(figure, folder, name)


def legend(figure, axes):
    """One legend for all axes, below them, as wide as they are; every label once."""
    found, n_columns = {}, max(2, int(figure.get_figwidth() / LABEL_WIDTH))
    for ax in np.ravel(axes):
        handles, labels = ax.get_legend_handles_labels()
        found.update(zip(labels, handles, strict=True))
    figure.legend(found.values(), found, loc="outside lower center", ncols=n_columns, frameon=False)


def save(figure, folder, name):
    """Write the picture in few colours, without the date and version that matplotlib would put in it."""
    for ax in figure.axes:
        if ax.get_yscale() == "log":
            few_ticks(ax.yaxis)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DPI)
    plt.close(figure)
    picture = Image.open(drawn).convert("RGB").quantize(N_COLOURS, dither=Image.Dither.NONE)
    picture.save(folder / f"{name}.png", optimize=True)
