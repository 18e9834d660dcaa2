"""Break trip files for as long as one likes, guided by the lines they reach: ``make fuzz``.

With Atheris (installed on demand by the Makefile) the search is guided by coverage; without it, or with
``--plain``, files are broken at random. A file that makes the readers do anything but read or refuse is written
to the folder of finds with what it did, and the search ends with an error.
"""

from __future__ import annotations

import argparse
import hashlib
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

_MOST_WAYS = 4


def main() -> int:
    """Run the search."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=600)
    parser.add_argument("--finds", type=Path, default=Path(".fuzz"))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--plain", action="store_true", help="at random, even where Atheris is installed")
    given = parser.parse_args()
    if not given.plain:
        try:
            import atheris
        except ImportError:
            sys.stderr.write("Atheris is not installed; files are broken at random.\n")
        else:
            return _guided(atheris, given.seconds, given.finds, given.seed)
    return _at_random(given.seconds, given.finds, given.seed)


def _tried(content: bytes, finds: Path) -> None:
    from tests.trips.fuzzing import judge

    try:
        judge(content)
    except BaseException:
        finds.mkdir(exist_ok=True)
        name = hashlib.sha256(content).hexdigest()[:16]
        (finds / name).write_bytes(content)
        (finds / f"{name}.txt").write_text(traceback.format_exc(), encoding="utf-8")
        raise


def _at_random(seconds: int, finds: Path, seed: int) -> int:
    from tests.trips.fuzzing import MUTATIONS, broken, samples

    rng, seeds = random.Random(seed), list(samples().values())  # noqa: S311 - not for secrets
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        ways = rng.choices(MUTATIONS, k=rng.randint(1, _MOST_WAYS))
        _tried(broken(rng.choice(seeds), ways, rng.randrange(2**32)), finds)
        count += 1
    sys.stdout.write(
        f"{count:,} files broken at random in {seconds} s (seed {seed}); each was read or refused.\n"
    )
    return 0


def _guided(atheris, seconds: int, finds: Path, seed: int) -> int:  # type: ignore[no-untyped-def]
    with atheris.instrument_imports(include=["ldpcore.trips"]):
        from tests.trips.fuzzing import MUTATIONS, broken, samples

    def mutate(content: bytes, most: int, chance: int) -> bytes:
        rng = random.Random(chance)  # noqa: S311 - not for secrets
        if rng.random() < 0.3:  # the library knows what it compares with what
            return bytes(atheris.Mutate(content, most))
        return broken(content, rng.choices(MUTATIONS, k=rng.randint(1, 2)), chance)[:most]

    # Lives as long as the process, which the library ends by itself.
    corpus = Path(tempfile.mkdtemp(prefix="fuzz-"))
    for name, content in samples().items():
        (corpus / name).write_bytes(content)
    arguments = [
        f"-max_total_time={seconds}",
        f"-seed={seed % 2**31}",
        "-max_len=30000",
        "-timeout=30",
        "-rss_limit_mb=0",
    ]
    finds.mkdir(exist_ok=True)
    atheris.Setup(
        [sys.argv[0], *arguments, f"-artifact_prefix={finds}/", str(corpus)],
        lambda content: _tried(content, finds),
        custom_mutator=mutate,
    )
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
