"""AppTest starts every rerun at the page of the run before and skips app.py; a server starts at app.py."""

from collections.abc import Iterator

import pytest
from streamlit.testing.v1 import AppTest


@pytest.fixture(scope="package", autouse=True)
def _start_at_app() -> Iterator[None]:
    run = AppTest._run

    def from_the_top(self: AppTest, *args, **kwargs) -> AppTest:
        self._finished_page_script_hash = ""
        return run(self, *args, **kwargs)

    patch = pytest.MonkeyPatch()
    patch.setattr(AppTest, "_run", from_the_top)
    yield
    patch.undo()
