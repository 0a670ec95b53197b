"""System structure packages (SSP 1.0): systems of FMUs in one file, read and written."""

from simloop.master.ssp.load import LoadedSystem, load_ssp
from simloop.master.ssp.note import ScheduleNote
from simloop.master.ssp.write import write_ssp
from simloop.master.ssp.xml import SspError

__all__ = ["LoadedSystem", "ScheduleNote", "SspError", "load_ssp", "write_ssp"]
