"""The two compiled parts; everything else stands in pyproject.toml."""

import sys

from setuptools import Extension, setup

warnings = [] if sys.platform == "win32" else ["-std=c11", "-Wall", "-Wextra", "-fvisibility=hidden"]

setup(
    cffi_modules=["cffi_build/gjk_build.py:ffibuilder"],
    ext_modules=[
        Extension(
            "simloop.fmus._shell",
            [f"cffi_build/fmi2_{part}.c" for part in ("shell", "python", "process", "choose")],
            depends=["cffi_build/fmi2.h", "cffi_build/fmi2_unit.h", "cffi_build/fmi2_engines.h"],
            define_macros=[("Py_LIMITED_API", "0x030b0000")],
            py_limited_api=True,
            extra_compile_args=warnings,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
