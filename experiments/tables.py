"""The studies' tables as files: rows that repeat to the last byte, and beside them the seconds, which do not."""

TIMES = ("seconds", "took")  # of the fit, on the processor; of the whole cell, on the wall


def write_tables(name, records, folder):
    """Write the rows, and beside them what they took, each in one step."""
    rows = [{**record["cell"], **row} for record in records for row in record["rows"]]
    times = [{**record["cell"], **{t: record[t] for t in TIMES}} for record in records]
    folder.mkdir(parents=True, exist_ok=True)
    for suffix, table in (("", rows), (".seconds", times)):
        write_parquet(table, folder / f"{name}{suffix}.parquet")


def write_parquet(rows, path):
    """Write dicts as columns, absent entries as nulls; no time and no path goes into the file."""
    import pyarrow
    import pyarrow.parquet

    from skewridge._atomic import atomic_file

    names = list(dict.fromkeys(name for row in rows for name in row))
    table = pyarrow.table({name: [row.get(name) for row in rows] for name in names})
    with atomic_file(path) as file:
        pyarrow.parquet.write_table(table, file, compression="zstd")


def load(name, folder):
    """Read a table as a data frame; None where there is none."""
    import pandas

    path = folder / f"{name}.parquet"
    return pandas.read_parquet(path) if path.exists() else None


def with_seconds(table, name, folder):
    """The table with the seconds of its cells as a column, where they are kept."""
    times = load(f"{name}.seconds", folder)
    if times is None or times["seconds"].isna().all():
        return table.assign(seconds=float("nan"))
    keys = [column for column in times if column not in TIMES]
    return table.merge(times.drop(columns="took"), on=keys, how="left")
