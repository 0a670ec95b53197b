/* Random and degenerate pairs against the definition: stress_gjk COUNT [SEED].
 *
 * Apart, an answer is checked against every vertex: the support planes along its normal must be as far apart as its
 * distance, and its witness points must lie on the bodies and be that far apart; together this is a proof. Overlapping,
 * the depth must be that of the plane along its normal, and moving the bodies apart by it must leave them touching.
 * Some pairs are also set moving, and some bodies are put into scenes. Says what it found, and fails on the first wrong
 * answer. Linked with gjk_checked.c in the place of gjk.c, each query is held against its certificate as well. */
#include "../../cffi_build/gjk_motion.h"
#include "../../cffi_build/gjk_scene.h"
#include "../../cffi_build/gjk_vector.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VERTICES = 64 };
enum { MEMBERS = 6, PAIRS = MEMBERS * (MEMBERS - 1) / 2, FRAMES = 3 };

/* xorshift64*, so that a seed means the same everywhere. */
static uint64_t state;

static double uniform(double low, double high)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return low + (high - low) * (double)((state * UINT64_C(2685821657736338717)) >> 11) / 9007199254740992.0;
}

static int choose(int count)
{
    return (int)uniform(0.0, count);
}

typedef struct shape {
    double vertices[3 * MOST_VERTICES];
    _Alignas(32) double lanes[3 * MOST_VERTICES];
    gjk_body body;
} shape;

/* A box, a flat polygon, a segment, a point, a hull round an ellipsoid, or points on a coarse lattice, which has many
 * coincident and coplanar ones; thin in some axis now and then. */
static void make_shape(shape *s)
{
    int kind = choose(6), count = kind == 0 ? 8 : kind == 2 ? 2 : kind == 3 ? 1 : 3 + choose(MOST_VERTICES - 3);
    double half[3];
    for (int i = 0; i < 3; ++i) {
        half[i] = uniform(0.05, 0.15) * (choose(12) == 0 ? pow(10.0, uniform(-9.0, -1.0)) : 1.0);
    }
    for (int k = 0; k < count; ++k) {
        double *v = s->vertices + 3 * k, u[3];
        for (int i = 0; i < 3; ++i) {
            u[i] = uniform(-1.0, 1.0);
        }
        double size = norm(u) + 1e-9;
        for (int i = 0; i < 3; ++i) {
            v[i] = kind == 0 ? (k >> i & 1 ? half[i] : -half[i]) : kind == 5 ? half[i] * rint(2.0 * u[i]) / 2.0
                                                                            : half[i] * u[i] / size;
        }
        if (kind == 1) {
            v[2] = 0.0;
        }
    }
    double radius = choose(4) == 0 ? uniform(0.0, 0.1) : 0.0;
    gjk_body_init(&s->body, s->vertices, count, radius, s->lanes);
}

static const gjk_pose at_origin = {.rotation = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0}};

static void make_pose(gjk_pose *pose)
{
    gjk_motion motion = {.pose = at_origin};
    int right_angles = choose(4) == 0;
    for (int i = 0; i < 3; ++i) {
        motion.spin[i] = right_angles ? 0.0 : uniform(-3.0, 3.0);
        motion.velocity[i] = uniform(-0.3, 0.3);
    }
    gjk_motion_at(&motion, 1.0, pose);
}

static double plane_gap(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
                        const double n[3])
{
    double most = -INFINITY, least = INFINITY, x[3];
    for (int32_t k = 0; k < a->count; ++k) {
        rotate(x, pose_a->rotation, a->vertices + 3 * (size_t)k);
        most = fmax(most, dot(n, x) + dot(n, pose_a->translation));
    }
    for (int32_t k = 0; k < b->count; ++k) {
        rotate(x, pose_b->rotation, b->vertices + 3 * (size_t)k);
        least = fmin(least, dot(n, x) + dot(n, pose_b->translation));
    }
    return least - most - a->radius - b->radius;
}

/* The largest deviation from what the answer claims, m. */
static double largest_fault(const shape *a, const gjk_pose *pose_a, const shape *b, const gjk_pose *pose_b,
                            const gjk_result *r)
{
    double fault = fabs(plane_gap(&a->body, pose_a, &b->body, pose_b, r->normal) - r->distance);
    double mix[3] = {0.0, 0.0, 0.0}, on_a[3], sum = 0.0;
    for (int k = 0; k < r->count; ++k) {
        add_scaled(mix, r->barycentric[k], a->vertices + 3 * r->index_a[k]);
        sum += r->barycentric[k];
        fault = fmax(fault, r->barycentric[k] > 0.0 ? 0.0 : 1.0);
    }
    rotate(on_a, pose_a->rotation, mix);
    for (int i = 0; i < 3; ++i) {
        double point = on_a[i] + pose_a->translation[i] + a->body.radius * r->normal[i];
        fault = fmax(fault, fabs(point - r->point_a[i]));
        fault = fmax(fault, fabs(r->point_b[i] - r->point_a[i] - r->distance * r->normal[i]));
    }
    return fmax(fault, fmax(fabs(sum - 1.0), fabs(norm(r->normal) - 1.0)));
}

static double distance_after(const shape *a, const gjk_pose *pose_a, const shape *b, gjk_pose pose_b, const double n[3],
                             double by, gjk_workspace *work)
{
    gjk_result moved;
    add_scaled(pose_b.translation, by, n);
    return gjk_distance(&a->body, pose_a, &b->body, &pose_b, NULL, work, &moved) == GJK_OK ? moved.distance : 0.0;
}

/* A pair under way: apart at some times before the bracket, touching at its end; the largest deviation, m. */
static double fault_of_impact(const shape *a, const gjk_pose *pose_a, const shape *b, const gjk_pose *pose_b,
                              gjk_workspace *work, long *undecided)
{
    gjk_motion motion[2] = {{.pose = *pose_a}, {.pose = *pose_b}};
    for (int i = 0; i < 3; ++i) {
        motion[0].velocity[i] = pose_b->translation[i] - pose_a->translation[i] + uniform(-0.2, 0.2);
        motion[0].spin[i] = uniform(-2.0, 2.0);
        motion[1].spin[i] = choose(2) ? uniform(-2.0, 2.0) : 0.0;
    }
    gjk_impact impact;
    gjk_status status = gjk_time_of_impact(&a->body, &motion[0], &b->body, &motion[1], 1.0, 1e-9, 1e-9, work, &impact);
    if (status != GJK_OK) {
        ++*undecided;
        return 0.0;
    }
    double fault = impact.upper - impact.lower > 1e-9;
    for (int k = 0; k <= 8; ++k) {
        gjk_pose moved[2];
        gjk_result r;
        double time = k < 8 ? impact.lower * uniform(0.0, 1.0) : impact.upper;
        gjk_motion_at(&motion[0], time, &moved[0]);
        gjk_motion_at(&motion[1], time, &moved[1]);
        if (gjk_distance(&a->body, &moved[0], &b->body, &moved[1], NULL, work, &r) != GJK_OK) {
            continue;
        }
        double limit = impact.contact == GJK_TOUCH ? 0.0 : impact.contact == GJK_GRAZE ? 1e-9 : INFINITY;
        fault = fmax(fault, k == 8 ? r.distance - limit : time < impact.lower ? -r.distance : 0.0);
    }
    return fault;
}

/* Bodies on frames: the nearest pair, and those within a margin, are those of asking every pair. */
static double fault_of_scene(gjk_workspace *work, long *undecided)
{
    static shape shapes[MEMBERS];
    gjk_member members[MEMBERS];
    gjk_pair pairs[PAIRS];
    gjk_pose frames[FRAMES], placed[MEMBERS];
    gjk_cache caches[PAIRS];
    gjk_box boxes[FRAMES];
    gjk_group groups[PAIRS];
    int32_t within[PAIRS], count = 0;
    double distances[PAIRS], margin = uniform(0.0, 0.2), fault = 0.0, nearest = INFINITY;
    memset(caches, 0, sizeof caches);
    for (int k = 0; k < MEMBERS; ++k) {
        make_shape(&shapes[k]);
        members[k] = (gjk_member){.body = &shapes[k].body, .frame = k * FRAMES / MEMBERS};
        make_pose(&members[k].on_frame);
    }
    for (int k = 0; k < FRAMES; ++k) {
        make_pose(&frames[k]);
    }
    for (int f = 0; f < FRAMES * FRAMES; ++f) {
        for (int k = 0; k < MEMBERS * MEMBERS; ++k) {
            int i = k / MEMBERS, j = k % MEMBERS;
            if (members[i].frame < members[j].frame && members[i].frame * FRAMES + members[j].frame == f) {
                pairs[count++] = (gjk_pair){i, j};
            }
        }
    }
    gjk_scene scene = {.members = members, .pairs = pairs, .member_count = MEMBERS, .pair_count = count,
                       .frame_count = FRAMES, .caches = caches, .boxes = boxes, .groups = groups, .placed = placed,
                       .work = work};
    gjk_answer answer;
    if (gjk_scene_init(&scene) != GJK_OK) {
        return 1.0;
    }
    if (gjk_scene_update(&scene, frames, margin, &answer, within, distances) != GJK_OK) {
        ++*undecided;
        return 0.0;
    }
    int32_t listed = 0;
    for (int32_t k = 0; k < count; ++k) {
        const gjk_member *a = &members[pairs[k].a], *b = &members[pairs[k].b];
        gjk_result r;
        if (gjk_distance(a->body, &placed[pairs[k].a], b->body, &placed[pairs[k].b], NULL, work, &r) != GJK_OK) {
            continue;
        }
        nearest = fmin(nearest, r.distance);
        if (listed < answer.within_count && within[listed] == k) {
            ++listed;
            fault = fmax(fault, fabs(distances[k] - r.distance));
        } else {
            fault = fmax(fault, margin - r.distance);
        }
    }
    return fmax(fault, fabs(nearest - answer.result.distance));
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 20000, apart = 0, inside = 0, undecided = 0;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    gjk_workspace *work = malloc(sizeof *work);
    shape *a = aligned_alloc(32, (sizeof *a + 31) / 32 * 32), *b = aligned_alloc(32, (sizeof *b + 31) / 32 * 32);
    double worst = 0.0;
    /* What another pair left in it is garbage to this one. */
    gjk_cache stale = {.count = 0.0};
    for (long i = 0; i < count; ++i) {
        gjk_pose pose_a, pose_b;
        gjk_result r;
        make_shape(a);
        make_shape(b);
        make_pose(&pose_a);
        make_pose(&pose_b);
        gjk_cache *cache = choose(2) ? &stale : NULL;
        gjk_status status = gjk_distance(&a->body, &pose_a, &b->body, &pose_b, cache, work, &r);
        /* Every other pair is moved to a gap, or an overlap, from 1e-12 to 0.1 m, or to exact touch. */
        if (status == GJK_OK && i % 2) {
            double gap = choose(8) == 0 ? 0.0 : pow(10.0, uniform(-12.0, -1.0)) * (choose(3) == 0 ? -1.0 : 1.0);
            add_scaled(pose_b.translation, gap - r.distance, r.normal);
            status = gjk_distance(&a->body, &pose_a, &b->body, &pose_b, cache, work, &r);
        }
        if (status != GJK_OK) {
            ++undecided;
            continue;
        }
        double fault = largest_fault(a, &pose_a, b, &pose_b, &r);
        int32_t touching = -1;
        gjk_status answered = gjk_intersects(&a->body, &pose_a, &b->body, &pose_b, &touching);
        if (answered == GJK_OK && fabs(r.distance) > 1e-11 && touching != (r.distance < 0.0)) {
            fault = 1.0;
        }
        if (r.distance < -1e-9) {
            ++inside;
            fault = fmax(fault, fabs(distance_after(a, &pose_a, b, pose_b, r.normal, -r.distance, work)));
            fault = fmax(fault, distance_after(a, &pose_a, b, pose_b, r.normal, -0.99 * r.distance, work) > 0.0);
        } else {
            ++apart;
        }
        if (i % 64 == 0) {
            fault = fmax(fault, fault_of_impact(a, &pose_a, b, &pose_b, work, &undecided));
        }
        if (i % 256 == 0) {
            fault = fmax(fault, fault_of_scene(work, &undecided));
        }
        worst = fmax(worst, fault);
        if (!(fault <= 1e-11)) {
            printf("wrong: pair %ld of seed %" PRIu64 ": distance %.17g, fault %.3g\n", i, seed, r.distance, fault);
            break;
        }
    }
    printf("%ld pairs: %ld apart or touching, %ld overlapping, %ld undecided; largest fault %.2g m\n", count, apart,
           inside, undecided, worst);
    free(work);
    free(a);
    free(b);
    return !(worst <= 1e-11) || undecided * 100000 > count;
}
