"""Tables that compare methods: where the published one loses, what our additions do, how fast errors fall."""

import numpy as np
from effects import MARGIN, log_ratio, select, slope
from fits import VERSIONS

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


def markdown(header, rows):
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


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
    if not np.isfinite(effect.mean):
        return "-"
    times = np.exp(effect.mean)
    return f"{times:,.0f}" if times >= 10 else f"{times:.2g}"


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
    """What we add, over Algorithm 2 and over the classical method of the same cost, all tuned."""
    if table is None:
        return "Figure 4 has not been run."
    parts = list(settings(largest(table)))
    told = [
        "Over Algorithm 2:",
        added_over(parts, "oversampled"),
        "Over the classical method on nodes so large that it costs as much as Algorithm 2:",
        added_over(parts, "equal cost"),
        "To that method's overall error they lose, by two standard errors:",
        "\n".join(lost_to_equal_cost(parts, method) for method in ADDED),
    ]
    return "\n\n".join(told)


def added_over(parts, base):
    rows = [
        [name, *(f"{both(part, method, base)}, {operations(part, method, base)}" for method in ADDED)]
        for name, part in parts
    ]
    return markdown(["tuned, largest N", *(TITLES[method] for method in ADDED)], rows)


def lost_to_equal_cost(parts, method):
    names = [name for name, part in parts if "loses" in compared(part, method, "equal cost")]
    return f"- {TITLES[method]}: in {len(names)} of {len(parts)} settings{': ' if names else ''}{'; '.join(names)}."


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
        [f"{study}, {name}", TITLES[method], both(part, method, "classical"), operations(part, method, "classical"),
         cpu(part, method)]
        for study, methods in REAL.items()
        if tables[study] is not None
        for name, part in real_settings(select(tables[study], version="tuned"))
        for method in ("classical", *methods)
    ]  # fmt: skip
    header = ["", "tuned", "error over classical, overall / rare", "operations over classical", "CPU seconds"]
    return markdown(header, rows) if rows else "Neither the real data nor the splines have been run."


def cpu(table, method):
    """Mean CPU seconds, the search for bandwidth and penalty included."""
    seconds = select(table, method=method)["seconds"].mean()
    return f"{seconds:.2g}" if np.isfinite(seconds) else "not measured"


def real_settings(table):
    """Rows at the number of nodes that all were run on, and without nodes; by function where there are several."""
    k = select(table, method="focus")["k"].iloc[0]
    table = table[table["k"].isin((1, k))]
    parts = [("", table)] if "function" not in table else [(f"{f}, ", part) for f, part in table.groupby("function")]
    return [(f"{name}k = {k}", part) for name, part in parts]
