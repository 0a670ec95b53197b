"""The mathematics: robots, dynamics, planning, control, collision geometry. No FMI, no clock."""
