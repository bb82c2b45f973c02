"""The files of models, each checked by its hash: another file would give other vectors, which
nobody would notice."""

import hashlib
import importlib.util
import os

VOCABULARIES = {"vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"}


def checked(path, sha256):
    """The path of a file that is the right one."""
    with open(path, "rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            raise SystemExit(f"{path} is damaged, or another version: its SHA-256 is not {sha256}")
    return path


def beside(name):
    """A file in the folder of this one."""
    return checked(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), VOCABULARIES[name])


def of_package(package, name, sha256):
    """A file of a package that is not imported: only the file is used."""
    spec = importlib.util.find_spec(package)
    if spec is None:
        raise SystemExit(f"the package with {package} is not installed")
    return checked(os.path.join(os.path.dirname(spec.origin), name), sha256)
