"""Builds simloop.models._resolution from resolution.c (cffi, API mode); paths are from the repository's root."""

import sys

from cffi import FFI

flags = [] if sys.platform == "win32" else ["-std=c11", "-O3", "-Wall", "-Wextra"]

ffibuilder = FFI()

ffibuilder.cdef(
    """
    typedef enum resolution_status { RESOLUTION_OK, RESOLUTION_BAD_WEIGHT, ... } resolution_status;
    typedef struct resolution_limits { const double *low, *high, *speed, *acceleration; ...; } resolution_limits;
    void resolution_bounds(
        int32_t n, const double *q, const double *v, const resolution_limits *limits, double h,
        double *least, double *most);
    int32_t resolution_within(
        int32_t n, const double *v, const double *least, const double *most, int32_t count,
        const double *rows, const double *rates, double rounding);
    typedef struct resolution_joints {
        int32_t n;
        const double *axes, *anchors;
        const uint8_t *slides, *moves;
        ...;
    } resolution_joints;
    void resolution_partings(
        const resolution_joints *joints, int32_t count, const int32_t *pairs, const int32_t *bodies,
        const double *witnesses, double *rows);
    typedef struct resolution_tasks {
        int32_t n, levels;
        const int32_t *sizes;
        double nearly_singular, damping;
        ...;
    } resolution_tasks;
    int32_t resolution_scratch(int32_t n, int32_t k);
    resolution_status resolution_velocity(
        const resolution_tasks *tasks, const double *W, const double *J, const double *rates,
        const double *liked, double *scratch, double *v);
    void resolution_programme(
        int32_t n, int32_t m, const double *W, const double *J, const double *rates, const double *liked,
        double minding, double *H, double *f);
    """
)

ffibuilder.set_source(
    "simloop.models._resolution",
    '#include "resolution.h"',
    sources=["cffi_build/resolution.c"],
    depends=["cffi_build/resolution.h"],
    include_dirs=["cffi_build"],
    extra_compile_args=flags,
    py_limited_api=True,
)
