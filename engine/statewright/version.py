"""The version of this distribution: the one place where it is written."""

from __future__ import annotations

VERSION = "0.1.0"
__version__ = VERSION

ENGINE = f"statewright {VERSION}"
"""This engine's name and version, as headers pin them."""
