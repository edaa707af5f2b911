"""Where things are."""

import pathlib

ROOM = pathlib.Path(__file__).resolve().parent
ROOT = ROOM.parents[1]
