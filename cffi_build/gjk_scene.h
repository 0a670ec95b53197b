/* Many bodies on moving frames: which pairs are near, which is nearest.
 *
 * A frame is what moves as one, such as a link of a robot; it carries one or more bodies. Pairs of bodies are tested
 * frame against frame: one box a frame keeps most of the tests from being made.
 *
 * Order of calls: fill a gjk_scene with arrays that outlive it, gjk_scene_init once, then any number of
 * gjk_scene_update. Nothing is allocated and nothing is global: updates may run in parallel as long as no two share a
 * scene's caches, placed poses, workspace or answers. */
#ifndef GJK_SCENE_H
#define GJK_SCENE_H

#include "gjk.h"

/* A body fixed to a frame. */
typedef struct gjk_member {
    const gjk_body *body;
    gjk_pose on_frame; /* x_frame = rotation x_body + translation */
    int32_t frame;
} gjk_member;

typedef struct gjk_pair {
    int32_t a, b; /* members */
} gjk_pair;

/* Box around all that a frame carries, in the frame's own axes. */
typedef struct gjk_box {
    double centre[3], half[3], bound; /* bound: half of the diagonal */
} gjk_box;

/* Consecutive pairs that belong to the same two frames. */
typedef struct gjk_group {
    int32_t frame_a, frame_b;
    int32_t first, count;
    double nearer; /* no pair of the group is nearer than this; of the last update */
} gjk_group;

/* The caller fills everything above the line; the arrays below it are scratch of the given lengths. */
typedef struct gjk_witness {
    double point_a[3], point_b[3], normal[3]; /* as in gjk_result */
} gjk_witness;

typedef struct gjk_scene {
    const gjk_member *members;
    const gjk_pair *pairs; /* those of the same two frames, in the same order, next to each other */
    int32_t member_count, pair_count, frame_count;
    gjk_cache *caches; /* pair_count; all zero at first */
    gjk_witness *witnesses; /* pair_count, or NULL: where each pair that is tested is nearest */
    /* ---- */
    gjk_box *boxes;     /* frame_count */
    gjk_group *groups;  /* pair_count */
    gjk_pose *placed;   /* member_count */
    gjk_workspace *work;
    int32_t group_count;
} gjk_scene;

typedef struct gjk_answer {
    int32_t nearest;      /* pair; -1 if there is none */
    gjk_result result;    /* of the nearest pair, or of the failed one */
    int32_t within_count; /* pairs not farther than the margin */
    int32_t tested, pruned; /* pairs that were tested, and that a box or a ball made needless */
    int32_t failed;       /* pair that did not converge, or -1 */
} gjk_answer;

/* Computes boxes and groups. GJK_OK, GJK_BAD_COUNT (a member or frame number out of range, or no frames), GJK_BAD_POSE
 * (of a member on its frame). */
gjk_status gjk_scene_init(gjk_scene *scene);

/* Answers for the frames' poses (frame_count, in the world). The nearest pair is the nearest of all, whatever the
 * margin. Pairs within the margin are listed in within and their signed distances in distances (pair_count long each;
 * in the order of the pairs). GJK_BAD_POSE leaves the answer alone; GJK_NOT_CONVERGED tells the pair in failed. */
gjk_status gjk_scene_update(gjk_scene *scene, const gjk_pose *frames, double margin, gjk_answer *answer,
                            int32_t *within, double *distances);

#endif
