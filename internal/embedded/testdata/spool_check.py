"""Fills files of spool.py as INSERTs do, and looks at what the engine would read, at the
budget and at what is kept. The argument is a new folder."""

import os
import random
import sys

import spool
from spool import KEPT, KEPT_BYTES, SMALL, Spool

BUDGET = 256 << 20


def filled(data, piece=700_000):
    file = Spool()
    for at in range(0, len(data), piece):
        view = file.room(len(data[at : at + piece]))
        view[:] = data[at : at + piece]
        view.release()
        file.size += len(data[at : at + piece])
    file.done()
    return file


def read(file):
    with open(file.path, "rb") as data:
        return data.read()


def held():
    return sum(kept.capacity for kept in Spool.kept)


def check_contents():
    """Whatever was in a file before, and however large."""
    dice, used_again = random.Random(7), 0
    for turn in range(60):
        open_files = []
        for _ in range(dice.randint(1, 3)):
            size = dice.choice([0, 1, 1000, SMALL, SMALL + 1, dice.randint(1, 9 * SMALL)])
            data, kept = dice.randbytes(size), len(Spool.kept)
            file = filled(data)
            used_again += len(Spool.kept) < kept
            assert read(file) == data, (turn, size)
            open_files.append((file, data))
        for file, data in open_files:
            assert read(file) == data, "another INSERT wrote into it"
            dice.choice([file.keep, file.keep, file.close])()
        assert len(Spool.kept) <= KEPT
        assert Spool.left + held() == BUDGET, (Spool.left, held())
    assert used_again > 20, used_again


def check_budget():
    """What is kept makes room for what is not; what finds no room goes to disk."""
    Spool.forget(0)
    assert (Spool.left, Spool.kept) == (BUDGET, [])
    filled(bytes(3 * SMALL)).keep()
    filled(bytes(8)).keep()
    assert len(Spool.kept) == 1, "a small one is not worth it"
    large = filled(bytes(KEPT_BYTES + 1))
    large.keep()
    assert not Spool.kept, "it had gone on in the kept one, and is too large to keep"
    filled(bytes(3 * SMALL)).keep()
    Spool.left = 2 * SMALL
    first = filled(bytes(2 * SMALL))  # in the kept one
    second = filled(bytes(5 * SMALL))
    assert (first.on_disk, second.on_disk) == (False, True)
    assert read(second) == bytes(5 * SMALL)
    first.keep()
    second.keep()
    assert len(Spool.kept) == 1, "what is on disk is not kept"
    Spool.left = 0
    third = Spool()
    assert third.reserve(SMALL) and not Spool.kept, "what is kept was not given back"


def check_failure():
    """A file that cannot be made longer is not kept, and its part of the budget is free."""
    Spool.kept, Spool.left = [], BUDGET
    filled(bytes(3 * SMALL)).keep()
    real, file = os.ftruncate, filled(b"x")

    def fails(fd, size):
        raise OSError("no")

    spool.os.ftruncate = fails
    try:
        file.room(2 * SMALL)
        raise AssertionError("no error")
    except OSError:
        pass
    finally:
        spool.os.ftruncate = real
    file.close()
    assert (Spool.left, Spool.kept) == (BUDGET, [])


def main():
    os.makedirs(sys.argv[1])
    Spool.folder, Spool.left = sys.argv[1], BUDGET
    check_contents()
    check_budget()
    check_failure()
    assert not os.listdir(sys.argv[1]), "files stay behind"


main()
