"""The compiled parts; everything else stands in pyproject.toml."""

import glob
import sys

from setuptools import Extension, setup

on_windows = sys.platform == "win32"
warnings = [] if on_windows else ["-std=c11", "-g0", "-Wall", "-Wextra", "-fvisibility=hidden"]
limited = {"define_macros": [("Py_LIMITED_API", "0x030b0000")], "py_limited_api": True}
shell = Extension(
    "simloop.fmus._shell",
    [f"cffi_build/fmi2_{part}.c" for part in ("shell", "python", "process", "helper", "choose")],
    depends=[f"cffi_build/fmi2{part}.h" for part in ("", "_unit", "_engines", "_helper")],
    extra_compile_args=warnings,
    **limited,
)
# No module: a plain library that the exporter copies into native units. Windows' linker would ask for a module in it.
native = Extension(
    "simloop.fmus._native",
    [f"cffi_build/{part}.c" for part in ("fmi2_shell", "native_collision", "native_robot", "gjk", "gjk_scene")],
    depends=glob.glob("cffi_build/*.h"),
    extra_compile_args=[*warnings, "-O3"],
    libraries=["m"],
    **limited,
)

setup(
    cffi_modules=[
        "cffi_build/gjk_build.py:ffibuilder",
        "cffi_build/resolution_build.py:ffibuilder",
        "cffi_build/executor_build.py:ffibuilder",
    ],
    ext_modules=[shell] if on_windows else [shell, native],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
