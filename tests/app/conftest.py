"""AppTest takes the folder pages for Streamlit's older kind of app at every run and then skips app.py.

A server does so until app.py has run once; ui.frame.require_frame sees to that there.
"""

from collections.abc import Iterator

import pytest
from streamlit.runtime.pages_manager import PagesManager


@pytest.fixture(scope="package", autouse=True)
def _start_at_app() -> Iterator[None]:
    start = PagesManager.__init__

    def without_the_folder(self: PagesManager, *args, **kwargs) -> None:
        start(self, *args, **kwargs)
        PagesManager.uses_pages_directory = False

    patch = pytest.MonkeyPatch()
    patch.setattr(PagesManager, "__init__", without_the_folder)
    yield
    patch.undo()
