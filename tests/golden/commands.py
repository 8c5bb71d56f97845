"""Six small tables, and every command of the command line on them: what it prints, what it writes, how it ends."""

import contextlib
import hashlib
import io
import os
import re
import shlex
import sys
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

from tests.golden import HOUSES

N = 150
ALL_COMMANDS = ("fit", "predict", "evaluate", "compare", "explain", "report", "diagnose", "plan", "info", "demo")
VARYING = [  # what another run, machine or release may say otherwise, and what stands for it here
    (re.compile(r'("seconds": )[-+.e\d]+'), r'\1"<seconds>"'),
    (re.compile(r" *(?<![\w.])\d[\d,.]*(?:e-?\d+)? (?:ms|s|min|h)(?!\w)"), " <time>"),
    (re.compile(r" +time$", re.MULTILINE), " time"),
    (re.compile(r"(\de[-+]\d\d +\d\.\d\de[-+]\d\d) +\d+\.\d\d"), r"\1 <seconds>"),  # of the demonstration
    (
        re.compile(r"((?:skewridge|[Pp]ython|numpy|scipy|scikit-learn|numba)(?:\W|</?\w+>){1,20})\d+\.\d+(?:\.\w+)*"),
        r"\1<version>",
    ),
    (re.compile(r"/[^\s'\"]*/golden-[^/\s'\"]*"), "<folder>"),
]
PROGRESS = re.compile(r": (?:\d+%|\d+ of \d+)$")  # a line every ten seconds, however fast the machine


def normalised(text):
    for pattern, instead in VARYING:
        text = pattern.sub(instead, text)
    return text


def sha(content):
    return hashlib.sha256(content).hexdigest()[:16]


def members(content):
    """What a model file holds: of every member of the zip its size and hash."""
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        parts = {name: file.read(name) for name in file.namelist()}
    return {
        name: sha(normalised(part.decode()).encode() if name.endswith(".json") else part)
        for name, part in parts.items()
    }


def skewed(rng, *columns):
    """Positive responses with a few large ones, which the columns decide but for some noise."""
    return np.exp(1.5 * sum(columns) + 0.1 * rng.normal(size=len(columns[0]))).round(3)


def write_trips(rng):
    """Dates, units, gaps and a category; new rows come later."""
    km, kind = rng.gamma(2.0, 6.0, N), rng.choice(["bus", "car", "bike"], N)
    day = pd.Timestamp("2021-03-01") + pd.to_timedelta(np.sort(rng.integers(0, 400, N)), "D")
    rows = {
        "day": day.strftime("%d/%m/%Y"),
        "km": [f"{x:.1f} km" for x in km],
        "kind": kind,
        "calm": rng.random(N) < 0.5,
    }
    table = pd.DataFrame({**rows, "wind": rng.normal(size=N).round(2), "cost": skewed(rng, km / 20, kind == "car")})
    table.loc[rng.random(N) < 0.1, "km"] = "n/a"
    table.loc[rng.random(N) < 0.1, "wind"] = np.nan
    return table


def write_messwerte(rng):
    """Semicolons, decimal commas and points between thousands, in another encoding."""
    size, weight = rng.random(N), rng.random(N)
    price = skewed(rng, size, weight) * 900

    def german(values):
        return [f"{x:,.2f}".translate(str.maketrans(",.", ".,")) for x in values]

    first = {"Größe": german(3000 * size), "Gewicht": german(weight), "Prüfer": rng.choice(["Jörg", "Änne"], N)}
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 90, N), "D")
    return pd.DataFrame({**first, "Tag": days.strftime("%d.%m.%Y"), "Preis": german(price)})


def write_claims(rng):
    """Counts, most of them zero; weights, groups, and a column of many levels."""
    age, site, agent = rng.integers(18, 80, N), rng.integers(0, 15, N), rng.integers(0, 45, N)
    count = rng.poisson(np.exp(age / 25 - 2 + 0.5 * np.sin(site)))
    rows = {"age": age, "site": [f"s{i:02}" for i in site], "agent": [f"agent {i}" for i in agent], "often": age % 3}
    return pd.DataFrame({**rows, "level": rng.choice(["low", "mid", "high"], N), "claims": count})


def write_losses(rng):
    """A tail without a mean square, and enough rows for a held-out part."""
    X = rng.normal(size=(1050, 3)).round(4)
    loss = np.exp(X[:, 0]) * (1 + rng.pareto(1.8, 1050)) + np.abs(X[:, 1])
    return pd.DataFrame(X, columns=["a", "b", "c"]).assign(loss=loss.round(4))


def write_peaks(rng):
    """Numbers alone, in columns with odd names, as every format that is read."""
    X = rng.random((2 * N, 2)).round(5)
    y = np.exp(-60 * ((X - 0.3) ** 2).sum(axis=1)) + 0.02 * rng.normal(size=2 * N)
    return pd.DataFrame({"the east": X[:, 0], "north, of it": X[:, 1], "=peak": y.round(5)})


def write_houses(rng):
    return pd.read_csv(HOUSES, dtype={"zip": str})


def save(name, table):
    options = {"sep": ";", "encoding": "cp1252"} if name == "messwerte" else {}
    table.to_csv(f"{name}.csv", index=False, **options)
    table.head(30).to_csv(f"{name}-new.csv", index=False, **options)


ADAPTIVE = "-e adaptive -p n_centers=20 -p bandwidth=2.0 -p penalty=0.001 -p 'kernel=\"matern52\"'"
HOUSES_AS = "--exclude id --ordinal condition=poor,fair,good --categorical zip --holdout 0.2"
CLAIMS_AS = "--weight often --groups site --missing refuse --report other.html --holdout 0.3"
TABLES = {  # what writes it, target, options of fit, a large value of the target
    "houses": (write_houses, "price", HOUSES_AS, 3000),
    "trips": (write_trips, "cost", "--time day", 5),
    "messwerte": (write_messwerte, "Preis", "-e local --encoding cp1252 --seed 3", 4000),
    "claims": (write_claims, "claims", CLAIMS_AS, 3),
    "losses": (write_losses, "loss", "-e adaptive -p 'scoring=\"mse\"' -p n_centers=100", 20),
    "peaks": (write_peaks, "=peak", "-e dac -p n_nodes=4 -p penalty=0.01", 0.5),
}
TWICE = """
fit {rows} -t {target} {options} -o {name}.skr
fit {rows} -t {target} {reading} {adaptive} -o {name}-2.skr
predict {name}.skr {new} -o plain.csv {reading}
predict {name}.skr {new} -o all.csv --std --interval 0.8 --quantiles 0.1,0.5,0.9 --exceeds {large} --keep * {reading}
evaluate {name}.skr {rows} {reading}
compare {name}.skr {name}-2.skr {rows} {reading}
explain {name}.skr {new} {reading}
explain {name}.skr {new} --row 2 {reading}
report {name}.skr {rows} -o page.html {reading}
diagnose {rows} -t {target} {reading}
plan {rows} -t {target} --memory-limit 1GB -j 2 {reading}
info {name}.skr
"""  # as text and as JSON
ONCE = """
predict {name}.skr {new} -o - --std {reading}
predict {name}.skr {new} -o plain.tsv --keep {target} --escape-formulas --missing drop {reading}
plan {rows} -t {target} --nodes 3 --memory-limit 1GB -j 2 {reading}
"""
FORMATS = """
diagnose peaks.{ending} -t '=peak' --json
predict peaks.skr peaks.{ending} -o of-{ending}.csv
"""
OTHERS = """
--version
--help
predict peaks.skr peaks-new.csv -o new.parquet
predict peaks.skr - -o -
predict peaks.skr houses.csv
predict houses.skr peaks-new.csv --json
predict peaks.csv peaks.csv
predict peaks.skr
diagnose 'peaks-n*.csv' peaks.csv -t '=peak'
fit nothing.csv -t y
fit houses.csv -t prise
fit houses.csv -t town
fit houses.csv
fitt houses.csv
fit houses.csv -t price -e adaptive -p n_centres=3
fit houses.csv -t price -e adaptive -p penalty=-1 --json
fit houses.csv -t price --features area,rooms,prise
fit houses.csv -t price --exclude id --memory-limit 1kB -j 2
fit houses.csv -t price -o houses.csv
fit houses.csv -t price --holdout 2
fit houses.csv -t price --features area,rooms --ordinal condition -o few.skr
fit houses.csv -t price --features area,condition --ordinal condition {adaptive} --holdout 0 -o few.skr
fit trips.csv -t cost --missing refuse
fit trips.csv -t cost --missing drop {adaptive} --kind wind=category --kind day=drop --max-categories 2 -o d.skr --json
info houses.csv
explain houses.skr
explain few.skr
explain houses.skr houses.csv --row 9000
compare houses.skr houses.csv
evaluate houses.skr houses.csv -t area
evaluate houses.skr houses.csv -t nothing
demo pictures
"""


def lines_of(commands, **known):
    """The commands of a text, one a line, with names put in."""
    return [" ".join(line.format(adaptive=ADAPTIVE, **known).split()) for line in commands.strip().splitlines()]


def lines_on(name):
    """All commands on one table."""
    _, target, options, large = TABLES[name]
    files = {"name": name, "rows": f"{name}.csv", "new": f"{name}-new.csv"}
    reading = "--encoding cp1252" if "cp1252" in options else ""
    known = {**files, "target": shlex.quote(target), "options": options, "large": large, "reading": reading}
    twice = [line + as_json for line in lines_of(TWICE, **known) for as_json in ("", " --json")]
    return [*twice, *lines_of(ONCE, **known)]


def other_lines():
    """Help, formats of files, rarer options and mistakes."""
    endings = ("tsv", "parquet", "arrow", "xlsx", "jsonl", "csv.gz")
    formats = [line for ending in endings for line in lines_of(FORMATS, ending=ending)]
    return [*(f"{command} --help" for command in ALL_COMMANDS), *formats, *lines_of(OTHERS)]


def run(line):
    """Run one command in this folder: its exit code, what it printed, and the files that it wrote or changed."""
    from skewridge.cli import main

    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    stdin, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(Path("peaks-new.csv").read_bytes()))
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(shlex.split(line))
    finally:
        sys.stdin = stdin
    printed, said = (normalised(stream.buffer.getvalue().decode()).splitlines() for stream in (out, err))
    after = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
    files = {str(path): described(path, content) for path, content in after.items() if before.get(path) != content}
    return {"exit": code, "out": printed, "err": [text for text in said if not PROGRESS.search(text)], "files": files}


def described(path, content):
    """A file as a record keeps it: texts whole, models and tables by their content, a picture by its being one."""
    if path.suffix == ".skr":
        return members(content)
    if path.suffix == ".parquet":
        return pd.read_parquet(io.BytesIO(content)).to_csv(index=False).splitlines()
    if path.suffix == ".png":  # matplotlib decides its bytes
        return content[:4].decode("latin-1")
    if path.suffix == ".html":
        return {"sha": sha(normalised(content.decode()).encode())}
    return content.decode("utf-8").splitlines()


def write_formats(table):
    table.to_csv("peaks.tsv", index=False, sep="\t")
    table.to_csv("peaks.csv.gz", index=False)
    table.to_parquet("peaks.parquet")
    table.to_feather("peaks.arrow")
    table.to_excel("peaks.xlsx", index=False)
    table.to_json("peaks.jsonl", orient="records", lines=True)


def small_demo():
    """The demonstration on fewer rows."""
    from skewridge import demo

    demo.N_ROWS = 600
    demo.METHODS = {name: {**how, "n_nodes": min(how["n_nodes"], 6)} for name, how in demo.METHODS.items()}


def record_commands():
    os.environ.update(COLUMNS="100", TERM="dumb", NO_COLOR="1", MPLBACKEND="Agg")
    small_demo()
    here, found = os.getcwd(), {}
    with TemporaryDirectory(prefix="golden-") as folder:
        os.chdir(folder)
        try:
            for i, (name, (write, *_)) in enumerate(TABLES.items()):
                table = write(np.random.default_rng(i))
                save(name, table)
                if name == "peaks":
                    write_formats(table)
            for name in TABLES:
                found[name] = {line: run(line) for line in lines_on(name)}
            found["others"] = {line: run(line) for line in other_lines()}
        finally:
            os.chdir(here)
    return found
