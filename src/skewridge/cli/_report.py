"""skewridge report."""

from __future__ import annotations

import numpy as np

from skewridge._validation import check_choice
from skewridge.cli._fit import check_output
from skewridge.cli._info import columns_of, response_rows
from skewridge.cli._predict import PredictRequest, model_inputs, predict_rows, read_rows
from skewridge.cli._screen import Answer, Screen
from skewridge.cli._table import MISSING, with_target
from skewridge.persist import read_model
from skewridge.tables.columns import check_columns


def report_table(request: PredictRequest, target: str | None, output: str, screen: Screen) -> Answer:
    """Read, predict, and tell the story on one page."""
    import pandas as pd

    from skewridge._atomic import atomic_file
    from skewridge.reporting import collect, render

    check_output(output, request.data)
    file = read_model(request.model)
    target = target or file.about.get("target")
    if not isinstance(target, str):
        raise ValueError(f"{request.model} does not say what it predicts: name the column by --target.")
    frame = read_rows(request, file, screen)
    check_columns([target], frame.columns)
    policy = check_choice("--missing", request.missing or file.about.get("missing", "refuse"), MISSING)
    frame, y = with_target(frame, target, policy, screen)
    done = ~np.isnan(predict_rows(request, file, frame, False, screen)[0])
    columns = columns_of(file.model)
    inputs = model_inputs(file.model, columns, frame.loc[done, [column.name for column in columns]], policy)
    named = pd.Series(y[done], index=getattr(inputs, "index", None), name=target)
    told = collect(file.model, inputs, named, y_ref=file.about["response"] if response_rows(file) else None)
    with atomic_file(output) as page:
        page.write(render(told).encode())
    return Answer({"output": output, **told}, [f"{output}: {told['title']}"])
