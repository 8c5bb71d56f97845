"""The page docs/reproduction.md: a template, filled with tables that are made from the studies' tables alone."""

import os
from pathlib import Path
from string import Template

import numpy as np
from effects import MARGIN, log_ratio, select, slope
from fits import VERSIONS
from tables import load

HERE = Path(__file__).parent
ADDED = ("focus", "pilot", "adaptive", "adaptive gaussian")
TITLES = {
    "classical": "classical",
    "oversampled": "Algorithm 2",
    "equal cost": "classical at equal cost",
    "breaks": "breaks, downsampled",
    "focus": "focus 1/2",
    "pilot": "pilot slices, focus 1/2",
    "adaptive": "adaptive centres",
    "adaptive gaussian": "adaptive centres, gaussian",
    "adaptive knots": "one spline, adaptive knots",
    "full": "full",
}
STUDIES = {
    "figure1": "Figure 1: some nodes and their average on two peaks in one feature.",
    "figure2": "Figure 2: Algorithm 2 on a toy with three slices and three nodes.",
    "figure3": "Figure 3: three scenarios of skewness.",
    "figure4": "Figure 4: error against N, and against operations.",
    "figure5": "Figure 5: how the slices are chosen, and how many there are.",
    "figure6": "Figure 6: Melbourne.",
    "earthquakes": "The authors' later settings on earthquakes.",
    "supplement_nodes": "Supplement: the number of nodes.",
    "supplement_splines": "Supplement: smoothing splines.",
    "bounds": "Theorem 4.1, the variance, N~ and the cost.",
    "choices": "What the paper leaves open, varied: Algorithm 2 over the classical method.",
}
SCALES = {
    "tiny": "a trial of the machinery on a few hundred rows: no figure on it means anything",
    "reduced": "the reduced version, `make reproduce`: few replicates, and no more than 6,784 rows",
    "full": "the full version, `make reproduce-full`: 100 replicates",
}


def fill(scale, places, claims, n_waiting):
    """The whole page."""
    tables = {name: load(name, places.results) for name in STUDIES}
    waiting = f"\n\nClaims that wait for the tables to test them on: {n_waiting}." if n_waiting else ""
    parts = {
        "scale": SCALES[scale],
        "sizes": sizes_table(tables),
        "claims": (claims + waiting).strip(),
        "losses": losses(tables["figure4"]),
        "additions": additions(tables["figure4"]),
        "slopes": slopes_table(tables["figure4"]),
        "real": real_table(tables),
        "pictures": pictures(places.pictures),
    }
    return Template((HERE / "reproduction.template.md").read_text()).substitute(parts)


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sizes_table(tables):
    """How many replicates and rows every study has."""
    rows = []
    for name, table in tables.items():
        if table is not None:
            numbers = sorted({int(n) for n in table["N"]})
            rows.append([name, f"{table['seed'].nunique()}", ", ".join(f"{n:,}" for n in numbers)])
    return markdown(["study", "replicates", "N"], rows) if rows else "Nothing has been run."


def compared(table, method, base, column="mse"):
    """The method's error over the base's, in bold where it is better by two standard errors, marked where worse."""
    effect = log_ratio(table, {"method": method}, {"method": base}, column)
    if not np.isfinite(effect.mean):
        return "-"
    ratio, reach = f"{np.exp(effect.mean):.2f}", MARGIN * effect.error
    if effect.mean + reach < 0:
        return f"**{ratio}**"
    return f"{ratio} (loses)" if effect.mean - reach > 0 else ratio


def both(table, method, base):
    """Overall and rare-region error over the base's."""
    return f"{compared(table, method, base)} / {compared(table, method, base, 'rare_mse')}"


def operations(table, method, base):
    """The method's operations over the base's."""
    effect = log_ratio(table, {"method": method}, {"method": base}, "flops")
    return f"{np.exp(effect.mean):.2g}" if np.isfinite(effect.mean) else "-"


def largest(table):
    return select(table, N=table["N"].max(), version="tuned")


def settings(table):
    """Every function and number of features."""
    for (function, d), part in table.groupby(["function", "d"], sort=True):
        yield f"{function}, d = {d}", part


BASES = {
    "classical": "on as many nodes",
    "equal cost": "on fewer, larger nodes of the same cost",
}


def losses(table):
    """Algorithm 2 against the classical method: on as many nodes, and at equal cost."""
    if table is None:
        return "Figure 4 has not been run."
    top = select(table, N=table["N"].max())
    told = [lost(select(top, version=version), version, base) for version in VERSIONS for base in BASES]
    rows = [
        [name, *(both(part, "oversampled", base) for base in BASES), operations(part, "oversampled", "classical")]
        for name, part in settings(largest(table))
    ]
    header = ["tuned, largest N", *(f"over classical {how}" for how in BASES.values()), "operations over classical"]
    return "\n".join(told) + "\n\n" + markdown(header, rows)


def lost(table, version, base):
    """In which settings the overall error is larger by two standard errors."""
    every = list(settings(table))
    names = [name for name, part in every if "loses" in compared(part, "oversampled", base)]
    where = f": {'; '.join(names)}" if names else ""
    return f"- **{version}**, to the classical method {BASES[base]}: in {len(names)} of {len(every)} settings{where}."


def additions(table):
    """What we add, over Algorithm 2, all tuned."""
    if table is None:
        return "Figure 4 has not been run."
    rows = [
        [name, *(f"{both(part, method, 'oversampled')}, {operations(part, method, 'oversampled')}" for method in ADDED)]
        for name, part in settings(largest(table))
    ]
    return markdown(["tuned, largest N", *(TITLES[method] for method in ADDED)], rows)


def slopes_table(table):
    """Log-log slopes along N."""
    if table is None:
        return "Figure 4 has not been run."
    methods = ["classical", *sorted(m for m in set(table["method"]) if m.startswith("tau=")), "oversampled", "full"]
    rows = [
        [name, version, *(told_slope(select(part, version=version, method=method)) for method in methods)]
        for name, part in settings(table)
        for version in VERSIONS
    ]
    return markdown(["", "penalty", *methods], rows)


def told_slope(table):
    if table["N"].nunique() < 2:
        return "-"
    effect = slope(table, "N")
    return f"{effect.mean:.2f} ± {effect.error:.2f}" if np.isfinite(effect.error) else f"{effect.mean:.2f}"


REAL = {
    "figure6": ("oversampled", "breaks", "equal cost", *ADDED, "full"),
    "earthquakes": ("oversampled", "breaks", "equal cost", *ADDED),
    "supplement_splines": ("oversampled", "focus", "pilot", "adaptive knots", "full"),
}


def real_table(tables):
    """Everything over the classical method, tuned, on real data and with splines."""
    rows = [
        [f"{study}, {name}", TITLES[method], both(part, method, "classical"), operations(part, method, "classical")]
        for study, methods in REAL.items()
        if tables[study] is not None
        for name, part in real_settings(select(tables[study], version="tuned"))
        for method in methods
    ]
    header = ["", "tuned", "error over classical, overall / rare", "operations over classical"]
    return markdown(header, rows) if rows else "Neither the real data nor the splines have been run."


def real_settings(table):
    """Rows at the number of nodes that all were run on, and without nodes; by function where there are several."""
    k = select(table, method="focus")["k"].iloc[0]
    table = table[table["k"].isin((1, k))]
    parts = [("", table)] if "function" not in table else [(f"{f}, ", part) for f, part in table.groupby("function")]
    return [(f"{name}k = {k}", part) for name, part in parts]


def pictures(folder):
    """Every study's pictures under a heading of its own."""
    root = HERE.parent / "docs"
    lines = []
    for study, title in STUDIES.items():
        found = sorted(path for path in folder.glob(f"{study}*.png") if owner(path.stem) == study)
        lines += [f"### {study}", "", title, ""]
        lines += [f"![{path.stem}]({os.path.relpath(path, root)})\n" for path in found]
    return "\n".join(lines).rstrip()


def owner(picture):
    """The study whose picture it is: the longest name that the picture's begins with."""
    return max((name for name in STUDIES if picture == name or picture.startswith(f"{name}_")), key=len, default="")
