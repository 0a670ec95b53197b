#include "gjk.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Iterations without a better bound before a loop gives up. */
enum { PATIENCE = 24 };

typedef struct query {
    const gjk_body *a, *b;
    const double *rotation_a, *rotation_b;
    double offset[3]; /* from the origin of a to the origin of b, world axes */
    double tolerance; /* of the certificate */
    double rounding;  /* gap that arithmetic alone may leave */
    int32_t iterations;
} query;

/* Closest point of a simplex to the origin, as a convex combination. */
typedef struct closest {
    gjk_point point[4];
    double weight[4];
    int count;
    double x[3];
    double normal[3]; /* unit, along x but found from the simplex; or zero */
    double distance;  /* |x| */
    double lower;     /* least normal.w over the Minkowski difference */
} closest;

typedef enum outcome { APART, TOUCHING, INSIDE, UNDECIDED } outcome;

static double dot(const double u[3], const double v[3])
{
    return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

static double norm(const double u[3])
{
    return sqrt(dot(u, u));
}

static void sub(double out[3], const double u[3], const double v[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = u[i] - v[i];
    }
}

static void scale(double out[3], double s, const double u[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = s * u[i];
    }
}

static void add_scaled(double out[3], double s, const double u[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] += s * u[i];
    }
}

static void cross(double out[3], const double u[3], const double v[3])
{
    out[0] = u[1] * v[2] - u[2] * v[1];
    out[1] = u[2] * v[0] - u[0] * v[2];
    out[2] = u[0] * v[1] - u[1] * v[0];
}

static void rotate(double out[3], const double R[9], const double u[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = dot(R + 3 * i, u);
    }
}

static void rotate_back(double out[3], const double R[9], const double u[3])
{
    for (int i = 0; i < 3; ++i) {
        out[i] = R[i] * u[0] + R[i + 3] * u[1] + R[i + 6] * u[2];
    }
}

static int in_range(const double *x, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!(fabs(x[i]) <= GJK_MAX_COORDINATE)) {
            return 0;
        }
    }
    return 1;
}

gjk_status gjk_body_init(gjk_body *body, const double *vertices, int32_t count, double radius)
{
    if (count < 1) {
        return GJK_BAD_COUNT;
    }
    if (!(radius >= 0.0 && radius <= GJK_MAX_COORDINATE)) {
        return GJK_BAD_RADIUS;
    }
    double low[3], high[3];
    memcpy(low, vertices, sizeof low);
    memcpy(high, vertices, sizeof high);
    for (int32_t k = 0; k < count; ++k) {
        const double *v = vertices + 3 * (size_t)k;
        if (!in_range(v, 3)) {
            return GJK_BAD_VERTEX;
        }
        for (int i = 0; i < 3; ++i) {
            low[i] = fmin(low[i], v[i]);
            high[i] = fmax(high[i], v[i]);
        }
    }
    *body = (gjk_body){.vertices = vertices, .count = count, .radius = radius};
    for (int i = 0; i < 3; ++i) {
        body->centre[i] = 0.5 * (low[i] + high[i]);
    }
    for (int32_t k = 0; k < count; ++k) {
        const double *v = vertices + 3 * (size_t)k;
        double from_centre[3];
        sub(from_centre, v, body->centre);
        body->bound = fmax(body->bound, norm(from_centre));
        body->reach = fmax(body->reach, norm(v));
    }
    return GJK_OK;
}

static int is_rotation(const double R[9])
{
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j <= i; ++j) {
            double off = dot(R + 3 * i, R + 3 * j) - (i == j);
            if (!(fabs(off) <= GJK_ROTATION_TOLERANCE)) {
                return 0;
            }
        }
    }
    double z[3];
    cross(z, R, R + 3);
    return dot(z, R + 6) > 0.0;
}

static int is_pose(const gjk_pose *pose)
{
    return in_range(pose->translation, 3) && is_rotation(pose->rotation);
}

static gjk_status query_init(query *q, double towards_b[3], const gjk_body *a,
                             const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b)
{
    if (!is_pose(pose_a) || !is_pose(pose_b)) {
        return GJK_BAD_POSE;
    }
    *q = (query){.a = a, .b = b, .rotation_a = pose_a->rotation, .rotation_b = pose_b->rotation};
    sub(q->offset, pose_b->translation, pose_a->translation);
    double centre_a[3], centre_b[3];
    rotate(centre_a, q->rotation_a, a->centre);
    rotate(centre_b, q->rotation_b, b->centre);
    sub(towards_b, centre_b, centre_a);
    add_scaled(towards_b, 1.0, q->offset);
    double extent = norm(towards_b) + a->bound + b->bound;
    double coordinates = norm(q->offset) + a->reach + b->reach;
    q->tolerance = GJK_GAP * extent + GJK_ROUNDING * coordinates;
    q->rounding = 16.0 * DBL_EPSILON * (extent + coordinates);
    return GJK_OK;
}

static int32_t farthest(const gjk_body *body, const double direction[3])
{
    int32_t best = 0;
    double most = -INFINITY;
    for (int32_t k = 0; k < body->count; ++k) {
        double along = dot(body->vertices + 3 * (size_t)k, direction);
        if (along > most) {
            most = along;
            best = k;
        }
    }
    return best;
}

static void place(const query *q, gjk_point *p, int32_t index_a, int32_t index_b)
{
    double x_a[3], x_b[3];
    rotate(x_a, q->rotation_a, q->a->vertices + 3 * (size_t)index_a);
    rotate(x_b, q->rotation_b, q->b->vertices + 3 * (size_t)index_b);
    for (int i = 0; i < 3; ++i) {
        p->x[i] = (x_b[i] - x_a[i]) + q->offset[i];
    }
    p->index_a = index_a;
    p->index_b = index_b;
}

/* Point of b - a with the least component along n; returns that component. */
static double support(query *q, gjk_point *p, const double n[3])
{
    double along_a[3], along_b[3];
    rotate_back(along_a, q->rotation_a, n);
    rotate_back(along_b, q->rotation_b, n);
    scale(along_b, -1.0, along_b);
    place(q, p, farthest(q->a, along_a), farthest(q->b, along_b));
    ++q->iterations;
    return dot(n, p->x);
}

static void combine(closest *c)
{
    memset(c->x, 0, sizeof c->x);
    for (int k = 0; k < c->count; ++k) {
        add_scaled(c->x, c->weight[k], c->point[k].x);
    }
    c->distance = norm(c->x);
}

static void closest_on_vertex(closest *c, const gjk_point *p)
{
    c->count = 1;
    c->point[0] = *p;
    c->weight[0] = 1.0;
    combine(c);
    scale(c->normal, c->distance > 0.0 ? 1.0 / c->distance : 0.0, c->x);
}

/* 0 if the edge has no length or the closest point is an end of it. */
static int closest_on_edge(closest *c, const gjk_point *p, const gjk_point *q)
{
    double e[3];
    sub(e, q->x, p->x);
    double length2 = dot(e, e);
    double t = -dot(e, p->x);
    if (!(t > 0.0 && t < length2)) {
        return 0;
    }
    t /= length2;
    c->count = 2;
    c->point[0] = *p;
    c->point[1] = *q;
    c->weight[0] = 1.0 - t;
    c->weight[1] = t;
    combine(c);
    /* Near contact x is mostly rounding: make it square to the edge again. */
    memcpy(c->normal, c->x, sizeof c->normal);
    add_scaled(c->normal, -dot(e, c->x) / length2, e);
    double length = norm(c->normal);
    scale(c->normal, length > 0.0 ? 1.0 / length : 0.0, c->normal);
    return 1;
}

/* Unit normal by the right hand, and twice the area; 0 if there is no area. */
static double triangle_normal(double n[3], const double p[3], const double q[3], const double r[3])
{
    double e[3][3];
    sub(e[0], q, p);
    sub(e[1], r, q);
    sub(e[2], p, r);
    int longest = 0;
    for (int i = 1; i < 3; ++i) {
        if (dot(e[i], e[i]) > dot(e[longest], e[longest])) {
            longest = i;
        }
    }
    cross(n, e[(longest + 1) % 3], e[(longest + 2) % 3]);
    double twice_area = norm(n);
    if (!(twice_area > 0.0)) {
        return 0.0;
    }
    scale(n, 1.0 / twice_area, n);
    /* On a thin triangle rounding tilts the product along the longest edge. */
    const double *e_long = e[longest];
    add_scaled(n, -dot(n, e_long) / dot(e_long, e_long), e_long);
    scale(n, 1.0 / norm(n), n);
    return twice_area;
}

/* 0 if the triangle has no area; else its normal, from the origin towards the
 * plane, with the weights clamped to the triangle. *inside tells whether the
 * foot of the perpendicular needed no clamping. */
static int closest_on_face(closest *c, const gjk_point *p, const gjk_point *q, const gjk_point *r,
                           int *inside)
{
    double n[3], e1[3], e2[3], t[3], v = 0.0, w = 0.0;
    double twice_area = triangle_normal(n, p->x, q->x, r->x);
    if (!(twice_area > 0.0)) {
        return 0;
    }
    sub(e1, q->x, p->x);
    sub(e2, r->x, p->x);
    double plane = dot(n, p->x);
    /* The second pass removes what the first lost on a thin triangle. */
    for (int pass = 0; pass < 2; ++pass) {
        double x[3], to_foot[3];
        memcpy(x, p->x, sizeof x);
        add_scaled(x, v, e1);
        add_scaled(x, w, e2);
        scale(to_foot, dot(n, x), n);
        sub(to_foot, to_foot, x);
        cross(t, to_foot, e2);
        v += dot(n, t) / twice_area;
        cross(t, e1, to_foot);
        w += dot(n, t) / twice_area;
    }
    double u = 1.0 - v - w;
    *inside = u >= 0.0 && v >= 0.0 && w >= 0.0;
    u = fmax(u, 0.0);
    v = fmax(v, 0.0);
    w = fmax(w, 0.0);
    double sum = u + v + w;
    c->count = 3;
    c->point[0] = *p;
    c->point[1] = *q;
    c->point[2] = *r;
    c->weight[0] = u / sum;
    c->weight[1] = v / sum;
    c->weight[2] = w / sum;
    combine(c);
    scale(c->normal, plane < 0.0 ? -1.0 : 1.0, n);
    return 1;
}

static double least_along(const double n[3], const gjk_point *points, int count)
{
    double least = INFINITY;
    for (int k = 0; k < count; ++k) {
        least = fmin(least, dot(n, points[k].x));
    }
    return least;
}

/* Length of the part of x square to the unit vector n. */
static double deviation(const double x[3], const double n[3])
{
    double aside[3];
    memcpy(aside, x, sizeof aside);
    add_scaled(aside, -dot(n, x), n);
    return norm(aside);
}

/* Keeps the candidate whose own bounds, over the simplex alone, lie nearer. An
 * error aside of the normal costs the distance its square only: count it too. */
static void keep_better(closest *best, double *gap, const closest *candidate,
                        const gjk_point *simplex, int count)
{
    double candidate_gap = candidate->distance -
                           least_along(candidate->normal, simplex, count) +
                           deviation(candidate->x, candidate->normal);
    if (candidate_gap < *gap) {
        *gap = candidate_gap;
        *best = *candidate;
    }
}

/* Closest point of a simplex to the origin. Every feature that holds the newest
 * (last) point is a candidate and the least duality gap wins: a sign test on a
 * nearly flat tetrahedron would be decided by rounding, the gap is not.
 * Returns 1, with best untouched, if the origin is inside a tetrahedron. */
static int reduce(closest *best, const gjk_point *s, int count)
{
    const gjk_point *w = s + count - 1;
    closest candidate = {0};
    double gap = INFINITY;
    int faces_beyond = 0, unused;
    if (count == 4) {
        if (closest_on_face(&candidate, s, s + 1, s + 2, &unused)) {
            faces_beyond += least_along(candidate.normal, s, count) <= 0.0;
        }
    }
    closest found = {0};
    for (int i = 0; i + 1 < count; ++i) {
        for (int j = i + 1; j + 1 < count; ++j) {
            if (closest_on_face(&candidate, s + i, s + j, w, &unused)) {
                faces_beyond += least_along(candidate.normal, s, count) <= 0.0;
                keep_better(&found, &gap, &candidate, s, count);
            }
        }
    }
    if (faces_beyond == 4) {
        return 1;
    }
    for (int i = 0; i + 1 < count; ++i) {
        if (closest_on_edge(&candidate, s + i, w)) {
            keep_better(&found, &gap, &candidate, s, count);
        }
    }
    closest_on_vertex(&candidate, w);
    keep_better(&found, &gap, &candidate, s, count);
    *best = found;
    return 0;
}

static int holds(const gjk_point *s, int count, const gjk_point *w)
{
    for (int k = 0; k < count; ++k) {
        if (s[k].index_a == w->index_a && s[k].index_b == w->index_b) {
            return 1;
        }
    }
    return 0;
}

/* GJK. Stops early once the core distance is proved above or not above margin;
 * a margin of NAN never stops. INSIDE leaves four points in best, TOUCHING a
 * feature of b - a that holds the origin within the tolerance. */
static outcome descend(query *q, const double towards_b[3], double margin, closest *best,
                       double *lower, double *upper)
{
    gjk_point simplex[4];
    closest now = {0}, nearest = {0};
    int count = 1, patience = PATIENCE;
    double gap = INFINITY, n[3] = {1.0, 0.0, 0.0};
    double length = norm(towards_b);
    if (length > 0.0) {
        scale(n, 1.0 / length, towards_b);
    }
    *lower = support(q, simplex, n);
    *upper = INFINITY;
    for (int i = 0; i < GJK_MAX_ITERATIONS && patience > 0; ++i) {
        if (reduce(&now, simplex, count)) {
            best->count = 4;
            memcpy(best->point, simplex, sizeof simplex);
            return INSIDE;
        }
        count = now.count;
        memcpy(simplex, now.point, (size_t)count * sizeof *simplex);
        gjk_point *w = simplex + count;
        now.lower = support(q, w, now.normal);
        --patience;
        if (now.distance < *upper) {
            *upper = now.distance;
            nearest = now;
            patience = PATIENCE;
        }
        int has_normal = dot(now.normal, now.normal) > 0.0;
        if (has_normal) {
            *lower = fmax(*lower, now.lower);
        }
        if (has_normal && now.distance - now.lower < gap) {
            gap = now.distance - now.lower;
            *best = now;
            patience = PATIENCE;
        }
        if (gap <= q->rounding || *lower > margin + q->tolerance || *upper <= margin) {
            return APART;
        }
        if (*upper <= q->rounding || holds(simplex, count, w)) {
            break;
        }
        ++count;
    }
    if (gap <= q->tolerance) {
        return APART;
    }
    *best = nearest;
    return *upper <= q->tolerance ? TOUCHING : UNDECIDED;
}

/* Fills the face's geometry; the vertices are set. Returns its closest point. */
static closest measure_face(const query *q, const gjk_point *points, gjk_face *f)
{
    const gjk_point *p[3];
    for (int i = 0; i < 3; ++i) {
        p[i] = points + f->vertex[i];
    }
    f->area = triangle_normal(f->normal, p[0]->x, p[1]->x, p[2]->x);
    double longest = 0.0;
    closest best, candidate = {0};
    closest_on_vertex(&best, p[0]);
    for (int i = 0; i < 3; ++i) {
        double e[3];
        sub(e, p[(i + 1) % 3]->x, p[i]->x);
        longest = fmax(longest, norm(e));
        closest_on_vertex(&candidate, p[i]);
        if (candidate.distance < best.distance) {
            best = candidate;
        }
        if (closest_on_edge(&candidate, p[i], p[(i + 1) % 3]) &&
            candidate.distance < best.distance) {
            best = candidate;
        }
    }
    int inside = 0;
    if (closest_on_face(&candidate, p[0], p[1], p[2], &inside) && inside) {
        best = candidate;
    }
    if (!(f->area > q->rounding * longest)) {
        f->area = 0.0;
        memset(f->normal, 0, sizeof f->normal);
    }
    f->offset = dot(f->normal, p[0]->x);
    f->distance = best.distance;
    f->aside = fmax(deviation(best.x, f->normal), q->rounding);
    return best;
}

typedef struct polytope {
    gjk_workspace *work;
    int32_t point_count;
    int32_t face_count; /* slots ever used */
    int32_t spare_count;
    int32_t expansion;
} polytope;

static int32_t new_face(polytope *m, const query *q, int32_t i, int32_t j, int32_t k)
{
    gjk_workspace *work = m->work;
    int32_t slot = m->spare_count > 0 ? work->spare[--m->spare_count] : m->face_count++;
    gjk_face *f = work->faces + slot;
    f->vertex[0] = i;
    f->vertex[1] = j;
    f->vertex[2] = k;
    f->alive = 1;
    f->visible = 0;
    measure_face(q, work->points, f);
    return slot;
}

static void polytope_init(polytope *m, const query *q, gjk_workspace *work, const gjk_point *s)
{
    static const int32_t corner[4][3] = {{0, 1, 2}, {0, 3, 1}, {1, 3, 2}, {2, 3, 0}};
    static const int32_t across[4][3] = {{1, 2, 3}, {3, 2, 0}, {1, 3, 0}, {2, 1, 0}};
    *m = (polytope){.work = work, .point_count = 4};
    memcpy(work->points, s, 4 * sizeof *s);
    double n[3], e[3];
    triangle_normal(n, s[0].x, s[1].x, s[2].x);
    sub(e, s[3].x, s[0].x);
    if (dot(n, e) > 0.0) {
        work->points[0] = s[1];
        work->points[1] = s[0];
    }
    for (int i = 0; i < 4; ++i) {
        new_face(m, q, corner[i][0], corner[i][1], corner[i][2]);
        memcpy(work->faces[i].across, across[i], sizeof across[i]);
    }
}

/* Face nearest to the origin. Coplanar neighbours tie to rounding: the one with
 * the foot of the perpendicular wins, then the largest. *depth is the distance
 * of the whole surface. */
static int32_t nearest_face(const polytope *m, const query *q, double *depth)
{
    const gjk_face *faces = m->work->faces;
    *depth = INFINITY;
    for (int32_t i = 0; i < m->face_count; ++i) {
        if (faces[i].alive) {
            *depth = fmin(*depth, faces[i].distance);
        }
    }
    int32_t best = -1;
    for (int32_t i = 0; i < m->face_count; ++i) {
        const gjk_face *f = faces + i, *g = faces + (best < 0 ? i : best);
        if (!f->alive || f->distance > *depth + 0.25 * q->rounding) {
            continue;
        }
        if (best < 0 || f->aside < g->aside || (f->aside == g->aside && f->area > g->area)) {
            best = i;
        }
    }
    return best;
}

/* Marks what w sees, starting at face first, and lists the border. Faces in one
 * plane with w count as seen, so that no new triangle lies along an old edge. */
static int32_t see(polytope *m, const query *q, const gjk_point *w, int32_t first, int only_first)
{
    gjk_workspace *work = m->work;
    int32_t stamp = ++m->expansion, depth = 0, count = 0;
    work->faces[first].visible = stamp;
    work->stack[depth++] = first;
    while (depth > 0) {
        const gjk_face *f = work->faces + work->stack[--depth];
        for (int i = 0; i < 3; ++i) {
            gjk_face *g = work->faces + f->across[i];
            if (g->visible == stamp) {
                continue;
            }
            if (!only_first && dot(g->normal, w->x) - g->offset > -0.25 * q->rounding) {
                g->visible = stamp;
                work->stack[depth++] = f->across[i];
            }
        }
    }
    for (int32_t k = 0; k < m->face_count; ++k) {
        const gjk_face *f = work->faces + k;
        for (int i = 0; f->alive && f->visible == stamp && i < 3; ++i) {
            if (work->faces[f->across[i]].visible != stamp) {
                if (count == GJK_MAX_FACES) {
                    return 0;
                }
                work->horizon[count++] =
                    (gjk_edge){f->vertex[i], f->vertex[(i + 1) % 3], f->across[i]};
            }
        }
    }
    return count;
}

/* Whether the border is one closed path that passes no point twice. */
static int is_loop(const polytope *m, int32_t count)
{
    gjk_workspace *work = m->work;
    for (int32_t i = 0; i < m->point_count; ++i) {
        work->fan[i] = -1;
    }
    for (int32_t k = 0; k < count; ++k) {
        if (work->fan[work->horizon[k].from] >= 0) {
            return 0;
        }
        work->fan[work->horizon[k].from] = k;
    }
    int32_t k = 0, steps = 0;
    do {
        k = work->fan[work->horizon[k].to];
        ++steps;
    } while (k > 0 && steps < count);
    return k == 0 && steps == count;
}

/* Replaces what w sees by the fan from w to the border. 0 if there is no room. */
static int expand(polytope *m, const query *q, const gjk_point *w, int32_t first)
{
    gjk_workspace *work = m->work;
    int32_t count = see(m, q, w, first, 0);
    if (count < 3 || !is_loop(m, count)) {
        count = see(m, q, w, first, 1);
        is_loop(m, count);
    }
    int32_t stamp = m->expansion;
    if (m->point_count == GJK_MAX_POINTS ||
        m->face_count - m->spare_count + count > GJK_MAX_FACES) {
        return 0;
    }
    for (int32_t i = 0; i < m->face_count; ++i) {
        if (work->faces[i].alive && work->faces[i].visible == stamp) {
            work->faces[i].alive = 0;
            work->spare[m->spare_count++] = i;
        }
    }
    work->points[m->point_count] = *w;
    for (int32_t k = 0; k < count; ++k) {
        const gjk_edge *e = work->horizon + k;
        work->stack[k] = new_face(m, q, e->from, e->to, m->point_count);
    }
    for (int32_t k = 0; k < count; ++k) {
        const gjk_edge *e = work->horizon + k;
        int32_t slot = work->stack[k], next = work->stack[work->fan[e->to]];
        gjk_face *outer = work->faces + e->outer;
        work->faces[slot].across[0] = e->outer;
        work->faces[slot].across[1] = next;
        work->faces[next].across[2] = slot;
        for (int i = 0; i < 3; ++i) {
            if (outer->vertex[i] == e->to && outer->vertex[(i + 1) % 3] == e->from) {
                outer->across[i] = slot;
            }
        }
    }
    ++m->point_count;
    return 1;
}

static double half_solid_angle(const double p[3], const double q[3], const double r[3])
{
    double q_r[3], P = norm(p), Q = norm(q), R = norm(r);
    cross(q_r, q, r);
    return atan2(dot(p, q_r), P * Q * R + dot(p, q) * R + dot(q, r) * P + dot(r, p) * Q);
}

/* Whether the surface winds round the origin: without that its distance would
 * prove nothing about the depth. A closed surface seen from inside everywhere
 * does; if some face turns its back the solid angles decide, 4 pi in all. */
static int encloses_origin(const polytope *m)
{
    const gjk_workspace *work = m->work;
    double half_angle = 0.0;
    int faces_behind = 0;
    for (int32_t k = 0; k < m->face_count; ++k) {
        faces_behind += work->faces[k].alive && work->faces[k].offset < 0.0;
    }
    for (int32_t k = 0; faces_behind > 0 && k < m->face_count; ++k) {
        const gjk_face *f = work->faces + k;
        if (f->alive) {
            half_angle += half_solid_angle(work->points[f->vertex[0]].x,
                                           work->points[f->vertex[1]].x,
                                           work->points[f->vertex[2]].x);
        }
    }
    return faces_behind == 0 || half_angle > 3.0;
}

/* EPA from a tetrahedron. On success best holds the boundary's closest point
 * with its outward normal reversed, to point from a to b. */
static int inflate(query *q, gjk_workspace *work, const gjk_point *tetrahedron, closest *best,
                   double *lower, double *upper)
{
    polytope m;
    polytope_init(&m, q, work, tetrahedron);
    double gap = INFINITY;
    *lower = -INFINITY;
    *upper = INFINITY;
    for (int i = 0; i < GJK_MAX_POINTS; ++i) {
        double depth, n[3];
        int32_t face = nearest_face(&m, q, &depth);
        gjk_face *f = work->faces + face;
        closest now = measure_face(q, work->points, f);
        scale(n, -1.0, f->normal);
        if (!(f->area > 0.0)) {
            scale(n, now.distance > 0.0 ? -1.0 / now.distance : 0.0, now.x);
        }
        *upper = -depth;
        gap = INFINITY;
        if (!(dot(n, n) > 0.0)) {
            break;
        }
        gjk_point w;
        now.lower = support(q, &w, n);
        memcpy(now.normal, n, sizeof n);
        *lower = fmax(*lower, now.lower);
        gap = -depth - now.lower;
        *best = now;
        if (gap <= q->rounding || !expand(&m, q, &w, face)) {
            break;
        }
    }
    if (-*upper > q->tolerance && !encloses_origin(&m)) {
        *upper = -*upper;
        return 0;
    }
    return gap <= q->tolerance;
}

/* Looks for a vertex, else an edge, else a face of the simplex that holds the
 * origin within the tolerance. A flat tetrahedron is not a start for EPA. */
static int find_feature(const query *q, closest *c)
{
    const closest s = *c;
    int inside;
    for (int i = 0; i < s.count; ++i) {
        closest_on_vertex(c, s.point + i);
        if (c->distance <= q->tolerance) {
            return 1;
        }
    }
    for (int i = 0; i < s.count; ++i) {
        for (int j = 0; j < i; ++j) {
            if (closest_on_edge(c, s.point + i, s.point + j) && c->distance <= q->tolerance) {
                return 1;
            }
        }
    }
    for (int i = 0; i < s.count; ++i) {
        for (int j = 0; j < i; ++j) {
            for (int k = 0; k < j; ++k) {
                if (closest_on_face(c, s.point + i, s.point + j, s.point + k, &inside) &&
                    c->distance <= q->tolerance) {
                    return 1;
                }
            }
        }
    }
    *c = s;
    return 0;
}

/* Adds to a feature that holds the origin the farthest of the points along the
 * given directions and their opposites. Returns 1 if one of them proves that
 * the origin is on the boundary; best then has that normal. */
static int grow(query *q, closest *best, double directions[][3], int count)
{
    double farthest_yet = -INFINITY;
    gjk_point added = best->point[0];
    for (int k = 0; k < 2 * count; ++k) {
        double n[3];
        gjk_point w;
        scale(n, k % 2 ? -1.0 : 1.0, directions[k / 2]);
        double lower = support(q, &w, n);
        if (best->distance - lower <= q->tolerance) {
            memcpy(best->normal, n, sizeof n);
            best->lower = lower;
            return 1;
        }
        if (-lower > farthest_yet) {
            farthest_yet = -lower;
            added = w;
        }
    }
    best->point[best->count] = added;
    best->weight[best->count++] = 0.0;
    return 0;
}

/* Two unit vectors square to e and to each other. */
static void complete_basis(double out[2][3], const double e[3])
{
    double axis[3] = {0.0, 0.0, 0.0};
    int least = 0;
    for (int i = 1; i < 3; ++i) {
        if (fabs(e[i]) < fabs(e[least])) {
            least = i;
        }
    }
    axis[least] = 1.0;
    cross(out[0], e, axis);
    scale(out[0], 1.0 / norm(out[0]), out[0]);
    cross(out[1], e, out[0]);
    scale(out[1], 1.0 / norm(out[1]), out[1]);
}

/* Raises a vertex, edge or triangle that holds the origin to a tetrahedron, of
 * four points unless it degenerates. Returns 1 if on the way the origin is
 * proved to be on the boundary. */
static int raise_to_tetrahedron(query *q, closest *best)
{
    if (best->count == 1) {
        double axes[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
        if (grow(q, best, axes, 3)) {
            return 1;
        }
    }
    if (best->count == 2) {
        double e[3], around[2][3];
        sub(e, best->point[1].x, best->point[0].x);
        complete_basis(around, e);
        if (grow(q, best, around, 2)) {
            return 1;
        }
    }
    if (best->count == 3) {
        double n[1][3];
        double area =
            triangle_normal(n[0], best->point[0].x, best->point[1].x, best->point[2].x);
        return area > 0.0 && grow(q, best, n, 1);
    }
    return 0;
}

static void write_result(const query *q, const gjk_pose *pose_a, const closest *c,
                         gjk_result *result)
{
    double core_a[3] = {0.0, 0.0, 0.0}, core_b[3] = {0.0, 0.0, 0.0};
    double swept = q->a->radius + q->b->radius;
    int used = 0;
    for (int k = 0; k < c->count; ++k) {
        double x[3];
        if (!(c->weight[k] > 0.0)) {
            continue;
        }
        rotate(x, q->rotation_a, q->a->vertices + 3 * (size_t)c->point[k].index_a);
        add_scaled(core_a, c->weight[k], x);
        rotate(x, q->rotation_b, q->b->vertices + 3 * (size_t)c->point[k].index_b);
        add_scaled(core_b, c->weight[k], x);
        result->barycentric[used] = c->weight[k];
        result->index_a[used] = c->point[k].index_a;
        result->index_b[used] = c->point[k].index_b;
        ++used;
    }
    result->count = used;
    result->distance = dot(c->normal, c->x) - swept;
    for (int i = 0; i < 3; ++i) {
        double n = c->normal[i];
        result->normal[i] = n;
        result->point_a[i] = pose_a->translation[i] + (core_a[i] + q->a->radius * n);
        result->point_b[i] =
            pose_a->translation[i] + ((core_b[i] + q->offset[i]) - q->b->radius * n);
    }
}

gjk_status gjk_distance(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b,
                        const gjk_pose *pose_b, gjk_workspace *work, gjk_result *result)
{
    query q;
    closest best = {0};
    double towards_b[3], lower, upper;
    gjk_status status = query_init(&q, towards_b, a, pose_a, b, pose_b);
    if (status != GJK_OK) {
        return status;
    }
    outcome found = descend(&q, towards_b, NAN, &best, &lower, &upper);
    int overlap = found == INSIDE || found == TOUCHING;
    if (overlap && (find_feature(&q, &best) || found == TOUCHING) &&
        raise_to_tetrahedron(&q, &best)) {
        found = APART;
    }
    int certified = found == APART;
    if (certified) {
        lower = best.lower;
        upper = best.distance;
    } else if (overlap && best.count == 4) {
        certified = inflate(&q, work, best.point, &best, &lower, &upper);
    }
    certified = certified && deviation(best.x, best.normal) <= q.tolerance;
    double swept = a->radius + b->radius;
    *result = (gjk_result){.distance = NAN,
                           .lower = fmin(lower, upper) - swept,
                           .upper = fmax(lower, upper) - swept,
                           .iterations = q.iterations};
    if (!certified) {
        return GJK_NOT_CONVERGED;
    }
    write_result(&q, pose_a, &best, result);
    return GJK_OK;
}

gjk_status gjk_intersects(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b,
                          const gjk_pose *pose_b, int32_t *answer)
{
    query q;
    closest best = {0};
    double towards_b[3], lower, upper;
    gjk_status status = query_init(&q, towards_b, a, pose_a, b, pose_b);
    if (status != GJK_OK) {
        return status;
    }
    double swept = a->radius + b->radius;
    outcome found = descend(&q, towards_b, swept, &best, &lower, &upper);
    if (found == UNDECIDED) {
        *answer = -1;
        return GJK_NOT_CONVERGED;
    }
    *answer = found != APART || !(lower > swept + q.tolerance);
    return GJK_OK;
}
