"""Streamlit that notes when a run of the page starts, when the map's bytes leave Python, and when it ends.

    ATLAS_TIMES=times.jsonl python -m benchmarks.timed_server app.py --server.port 8501 ...

Used by `benchmarks.page` alone: the product itself measures nothing. One line of JSON an event, with the
time in milliseconds since 1970, the clock that the browser on the same machine reads too.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from streamlit.runtime.scriptrunner.script_runner import ScriptRunner
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext
from streamlit.web import cli

TIMES = "ATLAS_TIMES"
MAP_COMPONENT = "ldp_atlas_hex_map"


def main() -> None:
    """Wrap the two methods, then hand over to Streamlit."""
    log = Path(os.environ[TIMES]).open("a", encoding="utf-8", buffering=1)  # noqa: SIM115 - for the whole process

    def note(event: str) -> None:
        log.write(json.dumps({"event": event, "at": time.time() * 1000}) + "\n")

    run_script, enqueue = ScriptRunner._run_script, ScriptRunContext.enqueue  # noqa: SLF001

    def timed_run(self: ScriptRunner, *arguments: Any) -> None:  # noqa: ANN401
        note("run")
        run_script(self, *arguments)
        note("end")

    def timed_enqueue(self: ScriptRunContext, msg: Any) -> None:  # noqa: ANN401
        # Noted first: another thread may send the message before this one goes on.
        if msg.HasField("delta") and msg.delta.new_element.bidi_component.component_name.endswith(
            MAP_COMPONENT
        ):
            note("map")
        enqueue(self, msg)

    ScriptRunner._run_script = timed_run  # type: ignore[method-assign, assignment]  # noqa: SLF001
    ScriptRunContext.enqueue = timed_enqueue  # type: ignore[method-assign]
    cli.main(["run", *sys.argv[1:]])


if __name__ == "__main__":
    main()
