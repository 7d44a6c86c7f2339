# SPDX-License-Identifier: Apache-2.0
"""``python -m optune`` and the console script: the program ``optune`` that belongs to the library."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NoReturn, Union


def program() -> Union[str, None]:
    """Where it is: beside the library, or installed with it; None: nowhere."""
    from ._library import path
    folder = Path(path).resolve().parent
    for place in (folder / "optune", folder.parent / "bin" / "optune",
                  folder.parent.parent / "bin" / "optune"):
        if place.is_file() and os.access(place, os.X_OK):
            return str(place)
    return None


def main() -> NoReturn:
    """Becomes the program."""
    found = program()
    if found is None:
        sys.exit("optune: the program is not beside the library; build it with scripts/build")
    os.execv(found, ["optune", *sys.argv[1:]])


if __name__ == "__main__":
    main()
