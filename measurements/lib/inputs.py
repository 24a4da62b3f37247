"""Input files for the measured programs: made from fixed seeds, the same on every machine."""

import random

from .paths import scratch

SEED = 20_240_117


def made(name, write):
    """The path of an input; `write(file)` makes it where it is missing."""
    path = scratch("inputs") / name
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        with open(unfinished, "wb") as file:
            write(file)
        unfinished.rename(path)
    return path


def text(mib):
    """Lines of made-up words, frequent ones short: compresses about as prose does."""

    def write(file):
        source = random.Random(SEED)
        letters = "etaoinshrdlucmfwypvbgkqjxz"
        words = ["".join(source.choices(letters, weights=range(26, 0, -1), k=1 + rank.bit_length()))
                 for rank in range(20_000)]
        # Zipf's law: the word of rank r is 1/r as frequent as the first.
        weights = [1 / (rank + 1) for rank in range(len(words))]
        left = mib << 20
        while left > 0:
            chunk = source.choices(words, weights=weights, k=120_000)
            lines = (" ".join(chunk[at:at + 12]) for at in range(0, len(chunk), 12))
            block = ("\n".join(lines) + "\n").encode()[:left]
            file.write(block)
            left -= len(block)

    return made(f"text-{mib}.txt", write)


def numbers(count):
    """Lines to be sorted: random hexadecimal keys."""

    def write(file):
        source = random.Random(SEED)
        for start in range(0, count, 10_000):
            lines = (f"{source.getrandbits(64):016x} {index}" for index in range(start, min(start + 10_000, count)))
            file.write(("\n".join(lines) + "\n").encode())

    return made(f"numbers-{count}.txt", write)


def script(name, content):
    """A small file of given content, for an interpreter."""
    path = scratch("inputs") / name
    path.write_text(content, encoding="utf-8")
    return path
