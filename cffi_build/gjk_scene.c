#include "gjk_scene.h"
#include "gjk_vector.h"

#include <string.h>

static int holds_index(int32_t index, int32_t count)
{
    return index >= 0 && index < count;
}

static void compose(gjk_pose *out, const gjk_pose *outer, const gjk_pose *inner)
{
    for (int i = 0; i < 3; ++i) {
        const double *row = outer->rotation + 3 * i;
        for (int j = 0; j < 3; ++j) {
            out->rotation[3 * i + j] =
                row[0] * inner->rotation[j] + row[1] * inner->rotation[3 + j] + row[2] * inner->rotation[6 + j];
        }
        out->translation[i] = dot(row, inner->translation) + outer->translation[i];
    }
}

/* Widens the range along each of the frame's axes by a member's vertices and radius. */
static void widen(double low[3], double high[3], const gjk_member *member)
{
    const gjk_body *body = member->body;
    for (int32_t k = 0; k < body->count; ++k) {
        double x[3];
        rotate(x, member->on_frame.rotation, body->vertices + 3 * (size_t)k);
        for (int i = 0; i < 3; ++i) {
            double at = x[i] + member->on_frame.translation[i];
            low[i] = fmin(low[i], at - body->radius);
            high[i] = fmax(high[i], at + body->radius);
        }
    }
}

static void box_init(gjk_box *box, const gjk_scene *scene, int32_t frame)
{
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int32_t k = 0; k < scene->member_count; ++k) {
        if (scene->members[k].frame == frame) {
            widen(low, high, scene->members + k);
        }
    }
    *box = (gjk_box){.bound = 0.0};
    for (int i = 0; i < 3 && low[i] <= high[i]; ++i) {
        box->centre[i] = 0.5 * (low[i] + high[i]);
        box->half[i] = 0.5 * (high[i] - low[i]);
    }
    box->bound = norm(box->half);
}

gjk_status gjk_scene_init(gjk_scene *scene)
{
    if (scene->frame_count < 1) {
        return GJK_BAD_COUNT;
    }
    for (int32_t k = 0; k < scene->member_count; ++k) {
        if (!holds_index(scene->members[k].frame, scene->frame_count)) {
            return GJK_BAD_COUNT;
        }
        if (!gjk_is_pose(&scene->members[k].on_frame)) {
            return GJK_BAD_POSE;
        }
    }
    scene->group_count = 0;
    for (int32_t k = 0; k < scene->pair_count; ++k) {
        gjk_pair pair = scene->pairs[k];
        if (!holds_index(pair.a, scene->member_count) || !holds_index(pair.b, scene->member_count)) {
            return GJK_BAD_COUNT;
        }
        int32_t frame_a = scene->members[pair.a].frame, frame_b = scene->members[pair.b].frame;
        gjk_group *last = scene->groups + scene->group_count - 1;
        if (scene->group_count > 0 && last->frame_a == frame_a && last->frame_b == frame_b) {
            ++last->count;
        } else {
            scene->groups[scene->group_count++] = (gjk_group){frame_a, frame_b, k, 1, 0.0};
        }
    }
    for (int32_t frame = 0; frame < scene->frame_count; ++frame) {
        box_init(scene->boxes + frame, scene, frame);
    }
    return GJK_OK;
}

/* From a point of one body to a point of another, in the world. */
static inline void find_between(double between[3], const double a[3], const gjk_pose *pose_a, const double b[3],
                                const gjk_pose *pose_b)
{
    double ra[3], rb[3];
    rotate(ra, pose_a->rotation, a);
    rotate(rb, pose_b->rotation, b);
    for (int i = 0; i < 3; ++i) {
        between[i] = (rb[i] + pose_b->translation[i]) - (ra[i] + pose_a->translation[i]);
    }
}

/* How far apart two boxes are at least: the gap along the line of their centres, or along an axis of either. */
static double box_gap(const gjk_box *a, const gjk_pose *pose_a, const gjk_box *b, const gjk_pose *pose_b)
{
    double between[3];
    find_between(between, a->centre, pose_a, b->centre, pose_b);
    double gap = norm(between) - a->bound - b->bound;
    if (gap > 0.0) {
        return gap;
    }
    double along_a[3], along_b[3], C[3][3];
    rotate_back(along_a, pose_a->rotation, between);
    rotate_back(along_b, pose_b->rotation, between);
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            const double *A = pose_a->rotation + i, *B = pose_b->rotation + j;
            C[i][j] = fabs(A[0] * B[0] + A[3] * B[3] + A[6] * B[6]);
        }
    }
    for (int i = 0; i < 3; ++i) {
        double reach_b = C[i][0] * b->half[0] + C[i][1] * b->half[1] + C[i][2] * b->half[2];
        double reach_a = C[0][i] * a->half[0] + C[1][i] * a->half[1] + C[2][i] * a->half[2];
        gap = larger(gap, fabs(along_a[i]) - a->half[i] - reach_b);
        gap = larger(gap, fabs(along_b[i]) - b->half[i] - reach_a);
    }
    return gap;
}

/* How far apart the balls round two bodies are. */
static double ball_gap(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b)
{
    double between[3];
    find_between(between, a->centre, pose_a, b->centre, pose_b);
    return norm(between) - a->bound - b->bound - a->radius - b->radius;
}

typedef struct sweep {
    gjk_scene *scene;
    gjk_answer *answer;
    int32_t *within;
    double *distances;
    double margin, nearest;
} sweep;

static gjk_status test_pair(sweep *s, int32_t k)
{
    gjk_scene *scene = s->scene;
    const gjk_member *a = scene->members + scene->pairs[k].a, *b = scene->members + scene->pairs[k].b;
    const gjk_pose *pose_a = scene->placed + scene->pairs[k].a, *pose_b = scene->placed + scene->pairs[k].b;
    if (ball_gap(a->body, pose_a, b->body, pose_b) > larger(s->margin, s->nearest)) {
        ++s->answer->pruned;
        return GJK_OK;
    }
    gjk_result result;
    gjk_status status = gjk_distance(a->body, pose_a, b->body, pose_b, scene->caches + k, scene->work, &result);
    ++s->answer->tested;
    if (status != GJK_OK) {
        s->answer->failed = k;
        s->answer->result = result;
        return status;
    }
    s->distances[k] = result.distance;
    if (scene->witnesses) {
        gjk_witness *at = scene->witnesses + k;
        memcpy(at->point_a, result.point_a, sizeof at->point_a);
        memcpy(at->point_b, result.point_b, sizeof at->point_b);
        memcpy(at->normal, result.normal, sizeof at->normal);
    }
    if (result.distance < s->nearest) {
        s->nearest = result.distance;
        s->answer->nearest = k;
        s->answer->result = result;
    }
    return GJK_OK;
}

static gjk_status test_group(sweep *s, const gjk_group *group)
{
    gjk_status status = GJK_OK;
    for (int32_t k = group->first; k < group->first + group->count && status == GJK_OK; ++k) {
        status = test_pair(s, k);
    }
    return status;
}

gjk_status gjk_scene_update(gjk_scene *scene, const gjk_pose *frames, double margin, gjk_answer *answer,
                            int32_t *within, double *distances)
{
    for (int32_t k = 0; k < scene->frame_count; ++k) {
        if (!gjk_is_pose(frames + k)) {
            return GJK_BAD_POSE;
        }
    }
    for (int32_t k = 0; k < scene->member_count; ++k) {
        compose(scene->placed + k, frames + scene->members[k].frame, &scene->members[k].on_frame);
    }
    *answer = (gjk_answer){.nearest = -1, .failed = -1};
    for (int32_t k = 0; k < scene->pair_count; ++k) {
        distances[k] = INFINITY;
    }
    sweep s = {scene, answer, within, distances, margin, INFINITY};
    gjk_group *first = NULL;
    for (int32_t g = 0; g < scene->group_count; ++g) {
        gjk_group *group = scene->groups + g;
        group->nearer = box_gap(scene->boxes + group->frame_a, frames + group->frame_a,
                                scene->boxes + group->frame_b, frames + group->frame_b);
        if (!first || group->nearer < first->nearer) {
            first = group;
        }
    }
    /* The group with the nearest boxes goes first: what it finds spares most of the others. */
    gjk_status status = first ? test_group(&s, first) : GJK_OK;
    for (int32_t g = 0; g < scene->group_count && status == GJK_OK; ++g) {
        gjk_group *group = scene->groups + g;
        if (group == first) {
            continue;
        }
        if (group->nearer > larger(margin, s.nearest)) {
            answer->pruned += group->count;
        } else {
            status = test_group(&s, group);
        }
    }
    for (int32_t k = 0; k < scene->pair_count; ++k) {
        if (distances[k] <= margin) {
            within[answer->within_count++] = k;
        }
    }
    return status;
}
