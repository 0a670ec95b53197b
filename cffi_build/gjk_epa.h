/* Part of gjk.c: penetration depth, by growing a polytope inside the Minkowski difference until a face of it is one of
 * the difference's own. */
#ifndef GJK_EPA_H
#define GJK_EPA_H

#include "gjk_simplex.h"

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
                    (gjk_edge){f->vertex[i], f->vertex[(i + 1) % 3], f->across[i], i};
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

#endif
