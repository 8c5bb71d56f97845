"""Record anew what fits predict: ``python -m tests.golden.record``. Commit it only with the reason why fits changed.

``python -m tests.golden.record files`` writes a release's model files, once; those of a release are never replaced.
"""

import json
import os
import sys
from tempfile import TemporaryDirectory

import skewridge
from skewridge import load_model
from skewridge.cli import main
from tests import saved
from tests.golden import FITS, HERE, HOUSES, answers, build


def listed(found):
    return {name: values.tolist() for name, values in found.items()}


def write(name, recorded):
    (HERE / name).write_text(json.dumps(recorded, indent=1) + "\n")


def command_line_file():
    """A model with its encoder, as the command line writes it."""
    options = ["--exclude", "id", "--ordinal", "condition=poor,fair,good", "--categorical", "zip"]
    settings = ["-p", "n_centers=30", "-p", "penalty=0.001", "--jobs", "1"]
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.skr")
        assert main(["fit", str(HOUSES), "-t", "price", *options, *settings, "-o", path]) == 0
        with open(path, "rb") as file:
            return file.read()


def record_files():
    folder = HERE / ".".join(skewridge.__version__.split(".")[:2])
    folder.mkdir()  # fails where the release has its files already
    contents = {name.replace(" ", "_").replace("'", ""): saved.file_of(name) for name in saved.MODELS}
    contents["command_line"] = command_line_file()
    for name, content in contents.items():
        (folder / f"{name}.skr").write_bytes(content)
    recorded = {name: listed(answers(load_model(folder / f"{name}.skr"))) for name in contents}
    write(f"{folder.name}/files.json", {"build": build(), "answers": recorded})


if __name__ == "__main__":
    if sys.argv[1:] == ["files"]:
        record_files()
    else:
        write("fits.json", {"build": build(), "answers": {name: listed(answers(fit(1))) for name, fit in FITS.items()}})
