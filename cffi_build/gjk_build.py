"""Builds simloop.models._gjk from gjk.c (cffi, API mode); paths are from the repository's root."""

import sys

from cffi import FFI

flags = [] if sys.platform == "win32" else ["-std=c11", "-O3", "-Wall", "-Wextra"]

PARTS = (
    "gjk",
    "gjk_vector",
    "gjk_support",
    "gjk_simplex",
    "gjk_fast",
    "gjk_epa",
    "gjk_epa_fast",
    "gjk_motion",
    "gjk_scene",
)

ffibuilder = FFI()

ffibuilder.cdef(
    """
    typedef enum gjk_status {
        GJK_OK, GJK_NOT_CONVERGED, GJK_BAD_COUNT, GJK_BAD_VERTEX, GJK_BAD_RADIUS, GJK_BAD_POSE,
        GJK_BAD_MOTION, ...
    } gjk_status;
    typedef struct gjk_body { ...; } gjk_body;
    typedef struct gjk_cache { ...; } gjk_cache;
    #define GJK_CACHE_SIZE ...
    typedef struct gjk_workspace { ...; } gjk_workspace;
    typedef struct gjk_pose { double rotation[9]; double translation[3]; } gjk_pose;
    typedef struct gjk_result {
        double distance, lower, upper;
        double point_a[3], point_b[3], normal[3], barycentric[4];
        int32_t index_a[4], index_b[4], count, iterations;
        ...;
    } gjk_result;
    #define GJK_STARTS ...
    int32_t gjk_lanes_size(int32_t count);
    gjk_status gjk_body_init(
        gjk_body *body, const double *vertices, int32_t count, double radius, double *lanes);
    void gjk_body_climb(
        gjk_body *body, const int32_t *first, const int32_t *neighbours, int32_t *starts);
    gjk_status gjk_distance(
        const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
        gjk_cache *cache, gjk_workspace *work, gjk_result *result);
    gjk_status gjk_intersects(
        const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
        int32_t *answer);
    typedef struct gjk_motion { gjk_pose pose; double velocity[3]; double spin[3]; } gjk_motion;
    typedef enum gjk_contact { GJK_CLEAR, GJK_GRAZE, GJK_TOUCH, ... } gjk_contact;
    typedef struct gjk_impact {
        gjk_contact contact;
        double lower, upper;
        gjk_result result;
        int32_t advances;
        ...;
    } gjk_impact;
    gjk_status gjk_time_of_impact(
        const gjk_body *a, const gjk_motion *motion_a, const gjk_body *b, const gjk_motion *motion_b,
        double horizon, double tolerance, double time_tolerance, gjk_workspace *work, gjk_impact *impact);
    typedef struct gjk_member { const gjk_body *body; gjk_pose on_frame; int32_t frame; ...; } gjk_member;
    typedef struct gjk_pair { int32_t a, b; } gjk_pair;
    typedef struct gjk_box { ...; } gjk_box;
    typedef struct gjk_group { ...; } gjk_group;
    typedef struct gjk_witness { double point_a[3], point_b[3], normal[3]; } gjk_witness;
    typedef struct gjk_scene {
        const gjk_member *members;
        const gjk_pair *pairs;
        int32_t member_count, pair_count, frame_count;
        gjk_cache *caches;
        gjk_witness *witnesses;
        gjk_box *boxes;
        gjk_group *groups;
        gjk_pose *placed;
        gjk_workspace *work;
        ...;
    } gjk_scene;
    typedef struct gjk_answer {
        int32_t nearest;
        gjk_result result;
        int32_t within_count, tested, pruned, failed;
        ...;
    } gjk_answer;
    gjk_status gjk_scene_init(gjk_scene *scene);
    gjk_status gjk_scene_update(
        gjk_scene *scene, const gjk_pose *frames, double margin, gjk_answer *answer,
        int32_t *within, double *distances);
    """
)

ffibuilder.set_source(
    "simloop.models._gjk",
    '#include "gjk_motion.h"\n#include "gjk_scene.h"',
    sources=["cffi_build/gjk.c", "cffi_build/gjk_motion.c", "cffi_build/gjk_scene.c"],
    depends=[f"cffi_build/{part}.h" for part in PARTS],
    include_dirs=["cffi_build"],
    extra_compile_args=flags,
    py_limited_api=True,
)
