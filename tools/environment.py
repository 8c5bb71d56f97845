"""Make a virtual environment and install the project in it; say clearly what is missing if that fails.

Usage: python tools/environment.py FOLDER [--extras dev,docs] [--oldest]

Runs on any Python 3, so that an old one gets a message and not a traceback.
"""

import os
import subprocess
import sys

LOWEST = (3, 11)


def stop(message):
    sys.stderr.write("\nskewridge: " + message + "\n")
    sys.exit(1)


def check_python():
    if sys.version_info < LOWEST:
        stop(
            "Python %d.%d or newer is needed, and %s is %d.%d. Name a newer one: make PYTHON=python3.12 ..."
            % (LOWEST + (sys.executable,) + tuple(sys.version_info[:2]))
        )
    try:
        import ensurepip  # noqa: F401
        import venv  # noqa: F401
    except ImportError:
        stop(
            "%s has no working venv module. On Debian or Ubuntu: apt install python3-venv. "
            "Or name another Python: make PYTHON=... ..." % sys.executable
        )


def lower_bounds(extras):
    """Turn every ``name>=version`` of the core and the extras into ``name==version``."""
    import tomllib

    with open("pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    wanted = list(project["dependencies"])
    groups = list(extras)
    while groups:
        for line in project["optional-dependencies"][groups.pop()]:
            if line.startswith("skewridge["):
                groups += line[len("skewridge[") : -1].split(",")
            else:
                wanted.append(line)
    return sorted({line.split(";")[0].replace(">=", "==") for line in wanted})


def main():
    check_python()
    folder = sys.argv[1]
    extras = sys.argv[sys.argv.index("--extras") + 1] if "--extras" in sys.argv else "dev"
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(python):
        made = subprocess.call([sys.executable, "-m", "venv", folder])
        if made != 0:
            stop("the virtual environment %s could not be made; see the message above." % folder)
    pins = lower_bounds(["dev"]) if "--oldest" in sys.argv else []
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.call(install + ["--editable", ".[%s]" % extras] + pins) != 0:
        stop("installing the project's dependencies failed; is the Python package index reachable?")
    with open(os.path.join(folder, ".ready"), "w"):
        pass


if __name__ == "__main__":
    main()
