"""The tests of pages in a browser are there for `make browser`, which says what they need. All others need Python alone."""

from __future__ import annotations

import os

collect_ignore_glob = [] if os.environ.get("AXE_CORE") else ["test_*.py"]
