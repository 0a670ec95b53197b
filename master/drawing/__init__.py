"""A system as a picture: components as boxes in columns, connections as arrows."""

from simloop.master.drawing.svg import draw

__all__ = ["draw"]
