"""Start a phone, kill it, start it again: `killed_phone.py FOLDER TIMES < client`.

The client comes as JSON on standard input. Each child process sends what is pending, then reports as fast as
it can, from hour to hour, until it is killed somewhere in its first four reports. The server is a file to
which messages are appended. Prints how many children were killed and how many cells a day has.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from secrets import randbelow
from types import SimpleNamespace

sys.path.insert(0, str(Path.cwd()))

from ldpcore.device.ledger import Ledger
from ldpcore.device.phone import Phone
from ldpcore.device.randomiser import Client
from ldpcore.device.store import FileKeyStore, FileStore

CELLS = [3, 3, 8, 3, 3, 11, 3]
RULES = SimpleNamespace(memo=True, cap=10, epoch_days=1, at_cap="replay")


def live(folder: Path, client: Client) -> None:
    ledger = Ledger(FileStore(folder / "store"), FileKeyStore(folder / "keys"))
    phone = Phone(client, ledger, RULES, Fraction(1))
    server = os.open(folder / "server", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for message in phone.pending():
        os.write(server, message.data)
        phone.sent(message.message_id)
    while True:
        # The ledger's own count of reports is the clock, so a report that is lost or counted twice shifts a day.
        hour = phone.lifetime().account.reports
        cell = CELLS[hour % 24 % len(CELLS)]
        message = phone.answer(cell, datetime(2026, 3, 2) + timedelta(hours=hour)).message
        os.write(server, message.data)
        phone.sent(message.message_id)


def wait_for(server: Path, size: int) -> float:
    """Wait until the server has so many bytes; return the seconds since it had the first."""
    began, patience = None, time.monotonic() + 120
    while time.monotonic() < patience:
        have = server.stat().st_size if server.exists() else 0
        if have and began is None:
            began = time.monotonic()
        if have >= size:
            return time.monotonic() - (began or 0)
        time.sleep(0.001)
    raise TimeoutError("the first phone sends nothing")


def main(folder: Path, times: int) -> None:
    name, cells, settings, header = json.load(sys.stdin)
    client = Client(name, cells, settings, bytes.fromhex(header))
    # What runs on a phone needs none of the server's libraries.
    assert "numpy" not in sys.modules
    killed, pace = 0, 0.0
    for turn in range(times):
        child = os.fork()
        if child == 0:
            live(folder, client)
        if turn == 0:
            # The first lives for more than a day of reports, which also tells how fast this disk is.
            pace = wait_for(folder / "server", 30 * (16 + len(client.report(0)))) / 30
        else:
            time.sleep(4 * pace * randbelow(10**6) / 10**6)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        killed += os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
    sys.stdout.write(f"{killed} {len(set(CELLS))}\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
