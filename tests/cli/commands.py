"""Commands as tests give them: what is answered in JSON, and what is said of an error."""

import json

from skewridge.cli import main


def answer(capsys, *arguments):
    """The JSON object that a command answers with."""
    capsys.readouterr()
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def error(capsys, *arguments):
    """What a command that fails says on stderr."""
    capsys.readouterr()
    assert main(list(arguments)) == 1
    return capsys.readouterr().err
