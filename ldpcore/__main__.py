"""``python -m ldpcore VERB``."""

import sys

from ldpcore.cli import main

sys.exit(main(sys.argv[1:]))
