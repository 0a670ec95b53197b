"""The time of the macro step that is being made."""


class Clock:
    """The time at the start of the current macro step and its length, s."""

    def __init__(self) -> None:
        self.time = 0.0
        self.h = 0.0
