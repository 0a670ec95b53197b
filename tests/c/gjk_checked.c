/* The collision library as it is, except that every answer is held against its certificate (gjk.h) before the caller
 * gets it; an answer that breaks it ends the program. Link it in the place of gjk.c: queries made by scenes and by
 * searches for an impact are then checked too. With GJK_PLAIN it is the path for machines without AVX2. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define gjk_distance unchecked_distance
#define gjk_intersects unchecked_intersects
#include "../../cffi_build/gjk.c"
#undef gjk_distance
#undef gjk_intersects

#if defined(GJK_PLAIN) && defined(GJK_HAVE_AVX2)
#error "GJK_PLAIN is to leave AVX2 out"
#endif

typedef struct posed {
    const gjk_body *a, *b;
    const gjk_pose *pose_a, *pose_b;
} posed;

static void demand(int holds, const char *claim, double by, double tolerance)
{
    if (!holds) {
        fprintf(stderr, "wrong: %s, by %.3g m where %.3g m is allowed\n", claim, by, tolerance);
        abort();
    }
}

/* Greatest n.x over the core, all vertices looked at. */
static double top(const gjk_body *body, const gjk_pose *pose, const double n[3])
{
    double most = -INFINITY, x[3];
    for (int32_t k = 0; k < body->count; ++k) {
        rotate(x, pose->rotation, body->vertices + 3 * (size_t)k);
        most = larger(most, dot(n, x) + dot(n, pose->translation));
    }
    return most;
}

static double plane_gap(const posed *p, const double n[3])
{
    double back[3];
    scale(back, -1.0, n);
    return -top(p->b, p->pose_b, back) - top(p->a, p->pose_a, n) - p->a->radius - p->b->radius;
}

static double sum_of_three(const double u[3])
{
    return fabs(u[0]) + fabs(u[1]) + fabs(u[2]);
}

/* What the header allows, worked out here, and the rounding of world coordinates in the check itself. */
static double allowed(const posed *p)
{
    double apart[3], middle_a[3], middle_b[3], middles[3], offset[3];
    sub(apart, p->pose_b->translation, p->pose_a->translation);
    rotate(middle_a, p->pose_a->rotation, p->a->centre);
    rotate(middle_b, p->pose_b->rotation, p->b->centre);
    rotate_back(offset, p->pose_a->rotation, apart);
    sub(apart, apart, middle_a);
    add_scaled(apart, 1.0, middle_b);
    rotate_back(middles, p->pose_a->rotation, apart);
    double extent = sum_of_three(middles) + p->a->bound + p->b->bound;
    double coordinates = sum_of_three(offset) + p->a->reach + p->b->reach;
    double world = extent + coordinates + sum_of_three(p->pose_a->translation) + p->a->radius + p->b->radius;
    return GJK_GAP * extent + GJK_ROUNDING * coordinates + 16.0 * DBL_EPSILON * world;
}

/* The point of a core that the weights of an answer make, on the swept surface, less the point told. */
static double witness_error(const gjk_body *body, const gjk_pose *pose, const gjk_result *r, const int32_t *index,
                            const double *point, double outward)
{
    double mix[3] = {0.0, 0.0, 0.0}, x[3];
    for (int k = 0; k < r->count; ++k) {
        demand(index[k] >= 0 && index[k] < body->count, "vertex numbers are in range", index[k], body->count);
        add_scaled(mix, r->barycentric[k], body->vertices + 3 * (size_t)index[k]);
    }
    rotate(x, pose->rotation, mix);
    for (int i = 0; i < 3; ++i) {
        x[i] += pose->translation[i] + outward * body->radius * r->normal[i] - point[i];
    }
    return norm(x);
}

/* The signed distance is the greatest gap between support planes: none of the bodies' axes, and no tilt of the normal,
 * may part them farther. */
static double greatest_gap(const posed *p, const double normal[3])
{
    double most = -INFINITY;
    for (int k = 0; k < 24; ++k) {
        double n[3];
        const double *R = (k % 2 ? p->pose_b : p->pose_a)->rotation, sign = k % 4 < 2 ? 1.0 : -1.0;
        int axis = k / 4 % 3;
        for (int i = 0; i < 3; ++i) {
            n[i] = k < 12 ? sign * R[3 * i + axis] : normal[i] + sign * (k % 2 ? 1e-2 : 1e-6) * (i == axis);
        }
        scale(n, 1.0 / norm(n), n);
        most = larger(most, plane_gap(p, n));
    }
    return most;
}

static void check(const posed *p, const gjk_result *r)
{
    double tolerance = allowed(p), sum = 0.0, miss[3];
    demand(r->count >= 1 && r->count <= 4, "one to four vertex pairs", r->count, 4);
    for (int k = 0; k < r->count; ++k) {
        demand(r->barycentric[k] > 0.0, "weights are positive", r->barycentric[k], 0.0);
        sum += r->barycentric[k];
    }
    demand(fabs(sum - 1.0) <= 8.0 * DBL_EPSILON, "weights sum to one", sum - 1.0, 8.0 * DBL_EPSILON);
    demand(fabs(norm(r->normal) - 1.0) <= 8.0 * DBL_EPSILON, "the normal is a unit vector", norm(r->normal) - 1.0, 0.0);
    double off = plane_gap(p, r->normal) - r->distance;
    demand(fabs(off) <= tolerance, "the support planes are as far apart as the distance", off, tolerance);
    for (int i = 0; i < 3; ++i) {
        miss[i] = r->point_b[i] - r->point_a[i] - r->distance * r->normal[i];
    }
    demand(norm(miss) <= tolerance, "point_b - point_a = distance * normal", norm(miss), tolerance);
    off = witness_error(p->a, p->pose_a, r, r->index_a, r->point_a, 1.0);
    demand(off <= tolerance, "point_a is made of its vertices", off, tolerance);
    off = witness_error(p->b, p->pose_b, r, r->index_b, r->point_b, -1.0);
    demand(off <= tolerance, "point_b is made of its vertices", off, tolerance);
    off = fmax(r->lower - r->distance, r->distance - r->upper);
    demand(off <= tolerance, "lower <= distance <= upper", off, tolerance);
    demand(r->upper - r->lower <= tolerance, "lower and upper meet", r->upper - r->lower, tolerance);
    off = greatest_gap(p, r->normal) - r->distance;
    demand(off <= tolerance, "no direction parts the bodies farther", off, tolerance);
}

gjk_status gjk_distance(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
                        gjk_cache *cache, gjk_workspace *work, gjk_result *result)
{
    posed p = {a, b, pose_a, pose_b};
    gjk_status status = unchecked_distance(a, pose_a, b, pose_b, cache, work, result);
    if (status == GJK_OK) {
        check(&p, result);
    } else if (status == GJK_NOT_CONVERGED) {
        double off = greatest_gap(&p, pose_a->rotation) - result->upper;
        demand(isnan(result->distance), "no distance without convergence", result->distance, 0.0);
        demand(result->lower <= result->upper, "lower <= upper", result->lower - result->upper, 0.0);
        demand(off <= allowed(&p), "no direction parts the bodies farther than upper", off, allowed(&p));
    }
    return status;
}

gjk_status gjk_intersects(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
                          int32_t *answer)
{
    static gjk_workspace work;
    posed p = {a, b, pose_a, pose_b};
    gjk_result r;
    gjk_status status = unchecked_intersects(a, pose_a, b, pose_b, answer);
    if (status == GJK_OK && gjk_distance(a, pose_a, b, pose_b, NULL, &work, &r) == GJK_OK) {
        double off = *answer ? r.distance : -r.distance;
        demand(off <= 2.0 * allowed(&p), "bodies intersect when their distance is not above zero", off, allowed(&p));
    }
    return status;
}
