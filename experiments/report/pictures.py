"""The pictures of docs/report.md: a report on made sales of flats, photographed in headless Chromium.

    python experiments/report/pictures.py [--out docs/images]

The table is made: price by town, rooms, size, floor and date of sale, with gaps, a lot of absurd sizes and an id.
"""

import argparse
import base64
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV

from skewridge import SkewRidge, make_table_model, report, response_train_test_split

sys.path.insert(0, str(Path(__file__).parents[2]))
from tests.browser import Page

TOWNS = {"Oslo": 1.0, "Bergen": 0.6, "Trondheim": 0.5, "Moss": 0.25, "Voss": 0.0}
SHOTS = {  # name: section, width, dark
    "report": ("trust", 1100, False),
    "report_drivers": ("drivers", 1100, True),
    "report_narrow": ("next", 400, False),
}


def sales(n=3000, seed=0):
    """Prices with a long tail: large flats high up in the first town."""
    random = np.random.default_rng(seed)
    town = random.choice(list(TOWNS), n, p=[0.35, 0.25, 0.2, 0.12, 0.08])
    rooms = random.integers(1, 7, n).astype(float)
    size = rooms * random.lognormal(3.1, 0.25, n)
    floor = random.integers(0, 12, n)
    days = random.integers(0, 1400, n)
    worth = pd.Series(town).map(TOWNS).to_numpy()
    view = np.where((worth == 1.0) & (floor > 8), 0.6, 0.02 * floor)
    price = 9e4 * np.exp(worth + 0.012 * size + view + 0.0002 * days) * random.lognormal(0, 0.08 + 0.1 * (worth < 0.3))
    size[random.integers(0, n, 6)] *= 1000.0  # in square decimetres, say
    sold = pd.to_datetime("2021-01-01") + pd.to_timedelta(days, unit="D")
    table = pd.DataFrame({"town": town, "rooms": rooms, "size": size.round(1), "floor": floor})
    table["sold"] = sold.strftime("%d/%m/%Y")
    table["colour"] = random.choice(["red", "white", "yellow"], n)
    table.loc[random.random(n) < 0.15, "size"] = np.nan
    table["id"] = [f"flat {i}" for i in range(n)]
    return table, pd.Series(price.round(-3), name="price")


def page(path):
    """Fit, compare, write the report."""
    X, y = sales()
    X_train, X_test, y_train, y_test = response_train_test_split(X, y, test_size=0.3, random_state=0)
    model = make_table_model(SkewRidge(random_state=0)).fit(X_train, y_train)
    encoder = model.steps[0][1]
    numbers = encoder.transform(X_train), encoder.transform(X_test)
    others = {"ridge": RidgeCV(), "boosted trees": HistGradientBoostingRegressor(random_state=0)}
    found = {name: other.fit(numbers[0], y_train).predict(numbers[1]) for name, other in others.items()}
    report(model, X_test, y_test, path, y_ref=y_train, baselines=found, train=(X_train, y_train))


def photograph(page, section, width, dark, path):
    """Write a picture of one section."""
    page.prefer("dark" if dark else "light")
    page.resize(width, 900)
    box = page.run(
        f"(({{x, y, width, height}}) => ({{x, y: y + scrollY, width, height}}))"
        f"(document.getElementById({section!r}).getBoundingClientRect())"
    )
    shot = page.call("Page.captureScreenshot", clip={**box, "scale": 1}, captureBeyondViewport=True)
    path.write_bytes(base64.b64decode(shot["data"]))
    print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("docs/images"))
    out = parser.parse_args().out
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "report.html"
        page(path)
        with Page(path.as_uri(), f"{folder}/profile") as opened:
            for name, (section, width, dark) in SHOTS.items():
                photograph(opened, section, width, dark, out / f"{name}.png")


if __name__ == "__main__":
    main()
