/* Part of gjk.c: the careful descent. Every feature of a simplex is weighed by its duality gap, so that nearly flat
 * simplices, needles and touching bodies are decided by bounds and not by the sign of a rounded number. */
#ifndef GJK_SIMPLEX_H
#define GJK_SIMPLEX_H

#include "gjk_support.h"

/* Iterations without a better bound before a loop gives up. */
enum { PATIENCE = 24 };

typedef enum outcome { APART, TOUCHING, INSIDE, UNDECIDED } outcome;

static void combine(closest *c)
{
    memset(c->x, 0, sizeof c->x);
    for (int k = 0; k < c->count; ++k) {
        add_scaled(c->x, c->weight[k], c->point[k].x);
    }
    c->distance = norm(c->x);
}

/* Leaves the points with a weight, and nothing in the other places. */
static void drop_weightless(closest *c)
{
    int used = 0;
    for (int k = 0; k < c->count; ++k) {
        if (c->weight[k] > 0.0) {
            c->weight[used] = c->weight[k];
            c->point[used++] = c->point[k];
        }
    }
    for (int k = used; k < 4; ++k) {
        c->weight[k] = 0.0;
        c->point[k].index_a = c->point[k].index_b = 0;
    }
    c->count = used;
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

#endif
