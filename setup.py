"""The compiled parts; everything else stands in pyproject.toml."""

import sys

from setuptools import Extension, setup

warnings = [] if sys.platform == "win32" else ["-std=c11", "-Wall", "-Wextra", "-fvisibility=hidden"]

setup(
    cffi_modules=[
        "cffi_build/gjk_build.py:ffibuilder",
        "cffi_build/resolution_build.py:ffibuilder",
        "cffi_build/executor_build.py:ffibuilder",
    ],
    ext_modules=[
        Extension(
            "simloop.fmus._shell",
            ["cffi_build/fmi2_shell.c"],
            define_macros=[("Py_LIMITED_API", "0x030b0000")],
            py_limited_api=True,
            extra_compile_args=warnings,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
