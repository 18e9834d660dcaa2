"""Files the browser fetches from this server: the drawing library, the map's own script, the land.

The wheel of pydeck carries a complete browser build of deck.gl. It is copied into the folder
`static/` beside app.py, which Streamlit serves under `app/static/`; nothing third-party is
committed and nothing comes from another host. Names carry a version or a digest, so a browser
may keep a file as long as it likes.

Run ``python -m ui.assets`` to make the folder ahead of the first start.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
STATIC: Final = ROOT / "static"
URL: Final = "app/static"
"""Where Streamlit serves `STATIC`, relative to the base of the page."""

_SCRIPTS: Final = Path(__file__).resolve().parent / "hex_map"
_SCRIPT_SUFFIXES: Final = frozenset({".js", ".css"})


def deck_bundle() -> Path:
    """Return the browser build of deck.gl inside the installed pydeck.

    Raises
    ------
    FileNotFoundError
        The installed pydeck has none.
    """
    import pydeck

    bundle = Path(pydeck.__file__).parent / "nbextension" / "static" / "index.js"
    if not bundle.is_file():
        message = f"The installed pydeck has no browser build at {bundle}; reinstall it with `make`."
        raise FileNotFoundError(message)
    return bundle


def _write(path: Path, content: bytes) -> None:
    """Write a file so that a reader sees all of it or none; two processes may do so at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


@cache
def script_files() -> dict[str, bytes]:
    """Return the map's own browser files by name."""
    return {
        path.name: path.read_bytes() for path in sorted(_SCRIPTS.iterdir()) if path.suffix in _SCRIPT_SUFFIXES
    }


@cache
def script_digest() -> str:
    """Return 12 hex digits that change with any of the map's own browser files."""
    digest = hashlib.sha256()
    for name, content in script_files().items():
        digest.update(name.encode() + b"\0" + content + b"\0")
    return digest.hexdigest()[:12]


def deck_name() -> str:
    """Return the file name of the drawing library, which carries pydeck's version."""
    return f"deck-{importlib.metadata.version('pydeck')}.js"


def deck_url() -> str:
    """Return the address of the drawing library, relative to the base of the page."""
    return f"{URL}/{deck_name()}"


def script_url() -> str:
    """Return the address of the map's entry script, relative to the base of the page."""
    return f"{URL}/hex_map/{script_digest()}/hex_map.js"


def ensure_assets(static: Path = STATIC) -> list[Path]:
    """Bring the static folder up to date; cheap when it is.

    Parameters
    ----------
    static
        The folder that Streamlit serves: `static/` beside the script it was started with.

    Returns
    -------
    list of Path
        The files written, empty when all were there already.
    """
    written: list[Path] = []
    deck = static / deck_name()
    bundle = deck_bundle()
    # Size beside name: a copy cut short by a full disk would carry the right name.
    if not deck.is_file() or deck.stat().st_size != bundle.stat().st_size:
        _write(deck, bundle.read_bytes())
        written.append(deck)
    for name, content in script_files().items():
        path = static / "hex_map" / script_digest() / name
        if not path.is_file() or path.stat().st_size != len(content):
            _write(path, content)
            written.append(path)
    if written:
        _remove_outdated(static)
    return written


def _remove_outdated(static: Path) -> None:
    for path in static.glob("deck-*.js"):
        if path.name != deck_name():
            path.unlink(missing_ok=True)
    for path in (static / "hex_map").iterdir():
        if path.name != script_digest() and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)


def publish_land(name: str, geojson: str, static: Path = STATIC) -> str:
    """Put the land of a built-in city where browsers can fetch it once and keep it.

    For public land only: everyone who can reach the server can read the folder. The area a user
    brings is theirs, and travels with the map's own data instead.

    Parameters
    ----------
    name
        Slug of the city, lower-case letters and underscores.
    geojson
        Its land in WGS 84, longitude first.
    static
        The folder that Streamlit serves.

    Returns
    -------
    str
        The address, relative to the base of the page; it changes with the content.
    """
    if not name.replace("_", "").isalnum() or not name.isascii():
        message = f"The name of a land file has letters, digits and underscores only, not {name!r}."
        raise ValueError(message)
    content = geojson.encode()
    file_name = f"{name}-{hashlib.sha256(content).hexdigest()[:12]}.json"
    path = static / "land" / file_name
    if not path.is_file() or path.stat().st_size != len(content):
        _write(path, content)
    return f"{URL}/land/{file_name}"


def main() -> None:
    """Make the static folder and say what was done."""
    written = ensure_assets()
    for path in written:
        sys.stderr.write(f"wrote {path.relative_to(ROOT)}\n")
    if not written:
        sys.stderr.write("static/ is up to date\n")


if __name__ == "__main__":
    main()
