"""Builds simloop.models._gjk from gjk.c (cffi, API mode); paths are from the repository's root."""

import sys

from cffi import FFI

flags = [] if sys.platform == "win32" else ["-std=c11", "-O2", "-Wall", "-Wextra"]

ffibuilder = FFI()

ffibuilder.cdef(
    """
    typedef enum gjk_status {
        GJK_OK, GJK_NOT_CONVERGED, GJK_BAD_COUNT, GJK_BAD_VERTEX, GJK_BAD_RADIUS, GJK_BAD_POSE, ...
    } gjk_status;
    typedef struct gjk_body { ...; } gjk_body;
    typedef struct gjk_workspace { ...; } gjk_workspace;
    typedef struct gjk_pose { double rotation[9]; double translation[3]; } gjk_pose;
    typedef struct gjk_result {
        double distance, lower, upper;
        double point_a[3], point_b[3], normal[3], barycentric[4];
        int32_t index_a[4], index_b[4], count, iterations;
        ...;
    } gjk_result;
    gjk_status gjk_body_init(
        gjk_body *body, const double *vertices, int32_t count, double radius);
    gjk_status gjk_distance(
        const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
        gjk_workspace *work, gjk_result *result);
    gjk_status gjk_intersects(
        const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
        int32_t *answer);
    """
)

ffibuilder.set_source(
    "simloop.models._gjk",
    '#include "gjk.h"',
    sources=["cffi_build/gjk.c"],
    depends=["cffi_build/gjk.h"],
    include_dirs=["cffi_build"],
    extra_compile_args=flags,
    py_limited_api=True,
)
