"""Model files as an enemy, a bad disk or a cut connection would leave them."""

import hashlib
import io
import json
import zipfile

MANIFEST, DOCUMENT = "manifest.json", "model.json"


def members_of(data):
    """The members of a file, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members, compression=zipfile.ZIP_STORED):
    """The bytes of a zip of some members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def sealed(members):
    """The members with sizes and checksums that are right again."""
    manifest = json.loads(members[MANIFEST])
    listed = manifest.get("members")
    for name, entry in listed.items() if isinstance(listed, dict) else ():
        if name in members and isinstance(entry, dict):
            entry["bytes"] = len(members[name])
            entry["sha256"] = hashlib.sha256(members[name]).hexdigest()
    return {**members, MANIFEST: json.dumps(manifest).encode()}


def edited(data, member, edit):
    """The file with the JSON of a member edited in place and all checksums right."""
    members = members_of(data)
    node = json.loads(members[member])
    edit(node)
    members[member] = json.dumps(node).encode()
    return zipped(sealed(members))


def damaged(data, rng):
    """The bytes after one to three accidents."""
    data = bytearray(data)
    for _ in range(rng.integers(1, 4)):
        start = int(rng.integers(0, max(1, len(data))))
        stop = start + int(rng.integers(1, 40))
        accident = rng.integers(0, 6)
        if accident == 0:
            data[start : start + 1] = bytes([int(rng.integers(0, 256))])
        elif accident == 1:
            data[start:stop] = rng.bytes(stop - start)
        elif accident == 2:
            del data[start:]
        elif accident == 3:
            del data[start:stop]
        elif accident == 4:
            data[start:start] = data[start:stop]
        else:
            data[start:stop] = bytes(stop - start)
    return bytes(data)


def forged(data, rng):
    """A file with some value of its JSON replaced by another, and checksums that are right."""
    return edited(data, DOCUMENT if rng.random() < 0.8 else MANIFEST, lambda node: _forge(node, rng))


def _forge(node, rng):
    places = list(_places(node))
    for place in rng.choice(len(places), size=int(rng.integers(1, 3))):
        owner, key = places[int(place)]
        owner[key] = _VALUES[int(rng.integers(0, len(_VALUES)))]
    if rng.random() < 0.2:
        owner, key = places[int(rng.integers(0, len(places)))]
        if isinstance(owner, dict):
            owner.pop(key, None)


def _places(node):
    """Every (container, key) of some JSON."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in items:
        yield node, key
        yield from _places(value)


_VALUES = [
    *(
        None,
        True,
        False,
        0,
        1,
        2,
        -1,
        7,
        10**6,
        2**63,
        10**40,
        0.5,
        -1e300,
        5e-324,
        "",
        "gaussian",
        "sobolev",
        "\ud800",
    ),
    *([], {}, [1, 2], [[]], {"array": 0}, {"array": 1}, {"array": -1}, {"array": 10**6}, {"float": "nan"}),
    *({"tuple": []}, {"tuple": [1.0]}, {"dict": {}}, {"scalar": ["<f8", 1.0]}, {"scalar": ["|O", 1.0]}),
    *({"strings": ["a"]}, {"strings": [1]}, {"estimator": {"class": "os.system"}}, {"__reduce__": "os.system"}),
]
