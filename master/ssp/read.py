"""Read system structure descriptions out of an unpacked package, with all the files that they name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from simloop.master.archive import unpack
from simloop.master.measure import Measure
from simloop.master.ssp.structure import Connector, DictionaryReference, End, Group, Part, Structure, Unit, Wire
from simloop.master.ssp.values import Setting, find_measure, map_values, read_measures, read_transform, read_values
from simloop.master.ssp.xml import (
    ANNOTATION,
    SSB,
    SSC,
    SSD,
    SSM,
    SSV,
    Element,
    SspError,
    local,
    need,
    number,
    parse,
    truth,
)

DEFAULT = "SystemStructure.ssd"
# Systems inside systems inside files; a file that names itself ends here.
DEEPEST = 16
# Many times the largest system that a person has to do with, bytes.
MOST_XML = 64 * 2**20
_TYPES = {
    "application/x-fmu-sharedlibrary": "an FMU",
    "application/x-ssp-definition": "a system structure description",
    "application/x-ssp-package": "a system structure package",
}
_KINDS = ("input", "output", "parameter", "calculatedParameter", "inout")


class Package:
    """An unpacked package. `notes` gathers what was left out or decided in reading, each a clause."""

    def __init__(self, folder: Path, notes: list[str], depth: int = 0) -> None:
        self.folder = folder.resolve()
        self.notes = notes
        self.depth = depth

    def read(self, name: str = DEFAULT) -> Structure:
        if self.depth > DEEPEST:
            raise SspError(f"{name!r} is the {DEEPEST}th system inside another; it may contain itself")
        return Description(self, self.file(name, self.folder)).read()

    def file(self, source: str, base: Path) -> Path:
        """The file inside the package that a URI relative to the folder `base` means."""
        parts = urlsplit(source)
        path = (base / unquote(parts.path)).resolve()
        if parts.scheme or parts.netloc or not path.is_relative_to(self.folder):
            raise SspError(f"the source {source!r} is not a file inside the package")
        if not path.is_file():
            raise SspError(f"the package has no file {source!r}")
        return path

    def parse(self, path: Path) -> Element:
        name, size = path.relative_to(self.folder).as_posix(), path.stat().st_size
        if size > MOST_XML:
            raise SspError(f"{name!r} has {size} bytes; {MOST_XML} are the most that are read")
        return parse(path.read_bytes(), name)


class Description:
    """One .ssd file of a package."""

    def __init__(self, package: Package, path: Path) -> None:
        self._package, self._notes = package, package.notes
        self._folder = path.parent
        self._root = package.parse(path)
        if self._root.tag != f"{SSD}SystemStructureDescription":
            raise SspError(f"{path.name!r} is a {local(self._root)}, not a SystemStructureDescription of SSP 1.0")
        version = need(self._root, "version")
        if not version.startswith("1."):
            raise SspError(f"{path.name!r} is of SSP {version}; simloop reads SSP 1")
        self._measures = read_measures(self._root, f"{SSD}Units")
        self._path = path

    def read(self) -> Structure:
        system = self._root.find(f"{SSD}System")
        if system is None:
            raise SspError(f"{self._path.name!r} has no System")
        experiment = self._root.find(f"{SSD}DefaultExperiment")
        start, stop = (
            None if experiment is None or experiment.get(name) is None else number(experiment, name)
            for name in ("startTime", "stopTime")
        )
        annotation = self._root.find(f"{SSD}Annotations/{SSC}Annotation[@type='simloop']/{ANNOTATION}Schedule")
        return Structure(need(self._root, "name"), self._group(system, 0), start, stop, annotation)

    def _group(self, system: Element, depth: int) -> Group:
        if depth > DEEPEST:
            raise SspError(f"the system {need(system, 'name')!r} is nested more than {DEEPEST} deep")
        elements = system.find(f"{SSD}Elements")
        parts = tuple(self._part(element, depth) for element in (() if elements is None else elements))
        names: set[str] = set()
        for part in parts:
            if part.name in names:
                raise SspError(f"the system {need(system, 'name')!r} has two elements named {part.name!r}")
            names.add(part.name)
        return Group(
            name=need(system, "name"),
            connectors=self._connectors(system),
            settings=self._settings(system),
            parts=parts,
            wires=tuple(_wire(each) for each in system.findall(f"{SSD}Connections/{SSD}Connection")),
            dictionaries=dict(map(self._dictionary, system.findall(f"{SSD}SignalDictionaries/{SSD}SignalDictionary"))),
        )

    def _part(self, element: Element, depth: int) -> Part:
        match element.tag.removeprefix(SSD):
            case "System":
                return self._group(element, depth + 1)
            case "Component":
                return self._component(element, depth)
            case "SignalDictionaryReference":
                return DictionaryReference(
                    name=need(element, "name"),
                    connectors=self._connectors(element),
                    dictionary=need(element, "dictionary"),
                )
            case other:
                raise SspError(f"a system has an element {other!r}, which SSP 1.0 does not know")

    def _component(self, element: Element, depth: int) -> Part:
        name, source = need(element, "name"), need(element, "source")
        kind = element.get("type", "application/x-fmu-sharedlibrary")
        if kind not in _TYPES:
            raise SspError(f"the component {name!r} is of the type {kind!r}; {', '.join(_TYPES)} are supported")
        if kind != "application/x-fmu-sharedlibrary":
            return self._system_by_reference(element, name, source, kind, depth)
        if element.get("implementation") == "ModelExchange":
            raise SspError(f"the component {name!r} is to be used by model exchange; co-simulation is supported")
        return Unit(
            name=name,
            connectors=self._connectors(element),
            settings=self._settings(element),
            path=self._package.file(source, self._folder),
        )

    def _system_by_reference(self, element: Element, name: str, source: str, kind: str, depth: int) -> Group:
        """The system that a component stands for; what is bound to the component comes after its own settings."""
        fragment = urlsplit(source).fragment
        if kind == "application/x-ssp-package":
            path = self._package.file(source, self._folder)
            folder = path.with_name(f"{path.name}.unpacked")
            if not folder.exists():
                unpack(path, folder)
            inner = Package(folder, self._notes, self._package.depth + 1).read(fragment or DEFAULT).system
        elif source.startswith("#"):
            # ElementTree's paths cannot compare with a value that has both kinds of quotes.
            systems = [each for each in self._root.iter(f"{SSD}System") if each.get("id") == fragment]
            if not systems:
                raise SspError(f"the component {name!r} stands for the system {source!r}, which its file does not have")
            inner = self._group(systems[0], depth + 1)
        else:
            path = self._package.file(source, self._folder)
            deeper = Package(self._package.folder, self._notes, self._package.depth + 1)
            inner = deeper.read(path.relative_to(self._package.folder).as_posix()).system
        return Group(
            name=name,
            connectors=inner.connectors,
            settings=inner.settings + self._settings(element),
            parts=inner.parts,
            wires=inner.wires,
            dictionaries=inner.dictionaries,
        )

    def _connectors(self, element: Element) -> dict[str, Connector]:
        connectors = {}
        for each in element.findall(f"{SSD}Connectors/{SSD}Connector"):
            name, kind = need(each, "name"), need(each, "kind")
            if kind not in _KINDS:
                raise SspError(f"the connector {name!r} is of the kind {kind!r}; {', '.join(_KINDS)} are known")
            if name in connectors:
                raise SspError(f"{need(element, 'name')!r} has two connectors named {name!r}")
            typed = next((child for child in each if child.tag.startswith(SSC)), None)
            if typed is None:
                connectors[name] = Connector(name, kind)
            else:
                measure = find_measure(typed, self._measures, self._notes)
                connectors[name] = Connector(name, kind, local(typed), measure)
        return connectors

    def _settings(self, element: Element) -> tuple[Setting, ...]:
        settings: list[Setting] = []
        for binding in element.findall(f"{SSD}ParameterBindings/{SSD}ParameterBinding"):
            values, name = self._document(binding, f"{SSD}ParameterValues/{SSV}ParameterSet", "parameter-set")
            bound = read_values(values, name, binding.get("prefix", ""), self._measures, self._notes)
            mapping = binding.find(f"{SSD}ParameterMapping")
            if mapping is not None:
                entries, name = self._document(mapping, f"{SSM}ParameterMapping", "parameter-mapping")
                bound = map_values(entries, name, bound, self._notes)
            settings += bound
        return tuple(settings)

    def _dictionary(self, element: Element) -> tuple[str, Mapping[str, Measure | None]]:
        root, name = self._document(element, f"{SSB}SignalDictionary", "signal-dictionary")
        if root.tag != f"{SSB}SignalDictionary":
            raise SspError(f"{name!r} is a {local(root)}, not a SignalDictionary of SSP 1.0")
        measures = {**self._measures, **read_measures(root, f"{SSB}Units")}
        entries: dict[str, Measure | None] = {}
        for entry in root.findall(f"{SSB}DictionaryEntry"):
            typed = next((child for child in entry if child.tag.startswith(SSC)), None)
            measure = None if typed is None else find_measure(typed, measures, self._notes)
            entries[need(entry, "name")] = measure
        return need(element, "name"), entries

    def _document(self, element: Element, inline: str, kind: str) -> tuple[Element, str]:
        """What an element holds inline or names as its source, and what to call that in an error."""
        usual = f"application/x-ssp-{kind}"
        if element.get("type", usual) != usual:
            raise SspError(f"a {local(element)} is of the type {element.get('type')!r}; {usual!r} is supported")
        if element.get("sourceBase", "SSD") != "SSD":
            raise SspError(f"a {local(element)} has its source inside a component, which is not supported")
        source = element.get("source")
        if source is not None:
            return self._package.parse(self._package.file(source, self._folder)), source
        found = element.find(inline)
        if found is None:
            raise SspError(f"a {local(element)} has neither a source nor a content of SSP 1.0")
        return found, f"{local(element)} of {self._path.name}"


def _wire(element: Element) -> Wire:
    return Wire(
        End(element.get("startElement"), need(element, "startConnector")),
        End(element.get("endElement"), need(element, "endConnector")),
        read_transform(element),
        not truth(element, "suppressUnitConversion", "false"),
    )
