"""The page docs/reproduction.md: a template, filled with tables that are made from the studies' tables alone."""

import os
from pathlib import Path
from string import Template

from against_mean import worse_than_the_mean
from bandwidths import by_bandwidth
from comparisons import additions, losses, markdown, real_table, slopes_table
from effects import MARGIN
from scipy.stats import t
from tables import load, with_seconds

HERE = Path(__file__).parent
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
    "choices_melbourne": "The bandwidth of the housing data, varied.",
}
SCALES = {
    "tiny": "a trial of the machinery on a few hundred rows: no figure on it means anything",
    "reduced": "the reduced version, `make reproduce`: few replicates, no fit to more than 6,784 rows",
    "full": "the full version, `make reproduce-full`: 100 replicates",
}
FEATURES = {"figure6": 3, "earthquakes": 3, "choices_melbourne": 3, "bounds": 2}  # of tables without a column d
SHOWN = {
    "rule": "penalty by the number of all rows",
    "node": "penalty by the node size",
    "code": "the authors' code",
    "tuned": "tuned",
    "errors": "errors in every version, and against operations",
    "flops": "error against operations, tuned",
    "flops_node": "error against operations, penalty by the node size",
    "flops_tuned": "error against operations, tuned",
    "slices": "along the number of slices",
    "costs": "time, operations, and errors against them",
    "risk": "the risk and the terms of its bound",
    "mse": "squared error",
    "rare_mse": "squared error in the rare region",
}


def fill(scale, places, claims, n_waiting):
    """The whole page."""
    found = {name: load(name, places.results) for name in STUDIES}
    tables = {n: None if table is None else with_seconds(table, n, places.results) for n, table in found.items()}
    waiting = f"\n\nClaims that wait for the tables to test them on: {n_waiting}." if n_waiting else ""
    parts = {
        "scale": SCALES[scale],
        "sizes": sizes_table(tables),
        "claims": (claims + waiting).strip(),
        "bandwidths": by_bandwidth(tables["choices"]),
        "worse": worse_than_the_mean(tables),
        "losses": losses(tables["figure4"]),
        "additions": additions(tables["figure4"]),
        "slopes": slopes_table(tables["figure4"]),
        "real": real_table(tables),
        "pictures": pictures(places.pictures),
    }
    return Template((HERE / "reproduction.template.md").read_text()).substitute(parts)


def sizes_table(tables):
    """How many replicates every study has, what two standard errors mean with them, and what was varied."""
    rows = [[name, *sizes_of(name, table)] for name, table in tables.items() if table is not None]
    header = ["study", "replicates", "two standard errors cover", "N", "d", "k", "tau"]
    return markdown(header, rows) if rows else "Nothing has been run."


def sizes_of(name, table):
    """A study's line: nodes only where there are several, tau only where it is varied."""
    n = table["seed"].nunique()
    nodes = [k for k in distinct(table, "k") if k > 1]
    taus = sorted(m.removeprefix("tau=") for m in set(table["method"]) if m.startswith("tau="))
    features = distinct(table, "d") if "d" in table else [FEATURES[name]]
    told = [", ".join(f"{value:,}" for value in values) for values in (distinct(table, "N"), features, nodes)]
    return [str(n), covered(n), *told, ", ".join([*taus, "1"]) if taus else "1"]


def distinct(table, column):
    return sorted({int(value) for value in table[column]})


def covered(n):
    """How probable it is that the mean of n normal replicates is within two of their standard errors of the truth."""
    return f"{1 - 2 * float(t.sf(MARGIN, n - 1)):.0%}" if n > 1 else "-"


def pictures(folder):
    """Every study's pictures under a heading of its own."""
    root = HERE.parent / "docs"
    lines = []
    for study, title in STUDIES.items():
        found = sorted(path for path in folder.glob(f"{study}*.png") if owner(path.stem) == study)
        lines += [f"### {study}", "", title, ""]
        lines += [f"![{words(path.stem, study)}]({os.path.relpath(path, root)})\n" for path in found]
    return "\n".join(lines).rstrip()


def words(picture, study):
    """What a picture shows, for those who do not see it."""
    shown = SHOWN.get(picture.removeprefix(study).removeprefix("_"))
    return f"{STUDIES[study].rstrip('.')} ({shown})" if shown else STUDIES[study].rstrip(".")


def owner(picture):
    """The study whose picture it is: the longest name that the picture's begins with."""
    return max((name for name in STUDIES if picture == name or picture.startswith(f"{name}_")), key=len, default="")
