"""skewridge report."""

from __future__ import annotations

import numpy as np

from skewridge._messages import rows_named
from skewridge.cli._evaluate import predicted_table, target_of
from skewridge.cli._fitted_rows import note_fitted_rows
from skewridge.cli._info import final_step, response_rows
from skewridge.cli._predict import PredictRequest, predicted_inputs
from skewridge.cli._reading import check_output
from skewridge.cli._roles import titled
from skewridge.cli._screen import Answer, Screen
from skewridge.persist import read_model


def report_table(request: PredictRequest, target: str | None, output: str, screen: Screen) -> Answer:
    """Read, predict, and tell the story on one page."""
    import pandas as pd

    from skewridge._atomic import atomic_file
    from skewridge.reporting import collect, render

    check_output(output, request.data, request.model)
    file = read_model(request.model)
    target = target_of(request.model, file, target)
    frame, y, prediction = predicted_table(request, file, target, screen)
    done = ~np.isnan(prediction)
    note_fitted_rows(request.model, file, frame[done], y[done], screen)
    inputs = predicted_inputs(request, file, frame[done])
    named = pd.Series(y[done], index=getattr(inputs, "index", None), name=target)
    title = titled(type(final_step(file.model)).__name__, target, file.about)
    row_names = dict(file.about.get("row_names", {}))
    with rows_named(lambda place: row_names.get(str(place), str(place))):
        y_ref = file.about["response"] if response_rows(file) else None
        told = collect(file.model, inputs, named, y_ref=y_ref, title=title)
    with atomic_file(output) as page:
        page.write(render(told).encode())
    return Answer({"output": output, **told}, [f"{output}: {told['title']}"])
