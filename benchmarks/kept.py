"""What long benchmarks keep between runs."""

import json


class Kept:
    """Findings by key, in a file if there is one: what is there already is not found again."""

    def __init__(self, path):
        self.path = path
        lines = path.read_text().splitlines() if path and path.exists() else []
        self.known = {tuple(key): found for key, found in map(json.loads, lines)}

    def __call__(self, key, find, *arguments):
        if key not in self.known:
            self.known[key] = find(*arguments)
            if self.path:
                with self.path.open("a") as file:
                    file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]
