/* Part of gjk.c: the quick descent. It takes the shortcuts that hold in exact arithmetic, and gives up without an answer
 * where rounding may have broken one: its answer counts only with the same certificate as the careful descent's. */
#ifndef GJK_FAST_H
#define GJK_FAST_H

#include "gjk_simplex.h"

/* Bodies that are apart need three to six; more is a sign of trouble. */
enum { QUICK_ITERATIONS = 32 };
/* Rounding of a pair, in its unit of length, between which twelfth powers of its size stay well within a double. */
#define QUICK_LEAST_ROUNDING 1e-25
#define QUICK_MOST_ROUNDING 1e-4

/* The quick descent works in the frame of a: one rotation fewer a support point. */
typedef struct frame_a {
    double R[9]; /* of b */
    double t[4]; /* the last is no part of it: rows of three are stored as four */
} frame_a;

/* What depends on the machine. The functions that take one are inlined into a caller that passes it as a constant, so
 * that each machine has a copy of them with its own functions inside, and is asked for once a query. */
struct rest;
typedef struct machine {
    int32_t (*farthest)(const gjk_body *body, const double d[3]);
    void (*relate)(frame_a *f, const gjk_pose *a, const gjk_pose *b, const double offset[3], double errors[2]);
    int32_t (*least)(const double *keys, int32_t count);
    int32_t (*look)(gjk_workspace *work, int32_t count, const double w[3]);
    /* Not inlined: it would take registers from the quick descent. */
    gjk_status (*finish)(struct rest *r, const gjk_pose *pose_a, gjk_cache *cache, gjk_workspace *work,
                         gjk_result *result);
} machine;

/* A feature and its closest point to the origin, v = d / size: a support point needs the direction only, and is not kept
 * waiting by a division. */
typedef struct quick {
    gjk_point p[4];   /* the fourth is the newest, and not part of the feature yet */
    double weight[3]; /* times whole */
    double whole;
    int count;
    double d[3], size;
    double dd; /* d.d */
} quick;

/* The newest point and some of the others. */
typedef struct feature {
    int others;
    int first, second; /* which others */
    int dropped;       /* which is not of the feature, to be overwritten by the newest */
    double weight_first, weight_second, whole;
    double d[3], size, dd;
} feature;

GJK_INLINE void feature_vertex(feature *f, const double n[3])
{
    f->others = 0;
    f->whole = f->size = 1.0;
    f->d[0] = n[0];
    f->d[1] = n[1];
    f->d[2] = n[2];
}

GJK_INLINE void feature_edge(feature *f, const double n[3], const double e[3], double along, double ee, int other)
{
    f->others = 1;
    f->first = other;
    f->weight_first = along;
    f->whole = f->size = ee;
    f->d[0] = ee * n[0] + along * e[0];
    f->d[1] = ee * n[1] + along * e[1];
    f->d[2] = ee * n[2] + along * e[2];
}

/* Closest feature of the triangle of the newest point n and two others; the edge between those two is known not to be
 * it. e0 and e1 are the edges from n. */
GJK_INLINE void closest_feature(feature *f, const double n[3], const double e0[3], const double e1[3], int other0,
                                int other1)
{
    double d0 = -dot(e0, n), d1 = -dot(e1, n);
    double a00 = dot(e0, e0), a11 = dot(e1, e1), a01 = dot(e0, e1);
    double u0 = d0 * a11 - d1 * a01, u1 = d1 * a00 - d0 * a01;
    if (u0 > 0.0 && u1 > 0.0) {
        double m[3];
        cross(m, e0, e1);
        double mn = dot(m, n);
        f->others = 2;
        f->first = other0;
        f->second = other1;
        f->dropped = 3 - other0 - other1;
        f->weight_first = u0;
        f->weight_second = u1;
        f->whole = a00 * a11 - a01 * a01;
        f->size = dot(m, m);
        f->d[0] = mn * m[0];
        f->d[1] = mn * m[1];
        f->d[2] = mn * m[2];
    } else if (d0 > 0.0 && u1 <= 0.0) {
        feature_edge(f, n, e0, d0, a00, other0);
    } else if (d1 > 0.0 && u0 <= 0.0) {
        feature_edge(f, n, e1, d1, a11, other1);
    } else {
        feature_vertex(f, n);
    }
}

GJK_INLINE void copy_point(gjk_point *to, const gjk_point *from)
{
    to->x[0] = from->x[0];
    to->x[1] = from->x[1];
    to->x[2] = from->x[2];
    to->index_a = from->index_a;
    to->index_b = from->index_b;
}

/* 0 if the newest point got no weight: the step went wrong by rounding. */
GJK_INLINE int quick_apply(quick *s, const feature *f)
{
    double rest = f->whole;
    if (f->others == 2) {
        rest = rest - f->weight_first - f->weight_second;
        s->weight[f->first] = f->weight_first;
        s->weight[f->second] = f->weight_second;
        s->weight[f->dropped] = rest;
        copy_point(s->p + f->dropped, s->p + 3);
    } else if (f->others == 1) {
        rest -= f->weight_first;
        if (f->first != 0) {
            copy_point(s->p, s->p + f->first);
        }
        copy_point(s->p + 1, s->p + 3);
        s->weight[0] = f->weight_first;
        s->weight[1] = rest;
    } else {
        copy_point(s->p, s->p + 3);
        s->weight[0] = rest;
    }
    s->count = f->others + 1;
    s->whole = f->whole;
    s->size = f->size;
    s->d[0] = f->d[0];
    s->d[1] = f->d[1];
    s->d[2] = f->d[2];
    s->dd = dot(f->d, f->d);
    return rest > 0.0;
}

/* 0 if the tetrahedron may hold the origin. */
GJK_INLINE int reduce_tetrahedron(quick *s)
{
    static const int side[3][2] = {{0, 1}, {1, 2}, {2, 0}};
    const double *n = s->p[3].x;
    double e[3][3], m[3][3], least = INFINITY;
    feature best = {0};
    for (int k = 0; k < 3; ++k) {
        sub(e[k], s->p[k].x, n);
    }
    for (int k = 0; k < 3; ++k) {
        cross(m[k], e[side[k][0]], e[side[k][1]]);
    }
    double volume = dot(m[0], e[2]);
    for (int k = 0; k < 3; ++k) {
        if (dot(m[k], n) * volume >= 0.0) {
            feature f;
            closest_feature(&f, n, e[side[k][0]], e[side[k][1]], side[k][0], side[k][1]);
            double distance2 = dot(f.d, f.d) / (f.size * f.size);
            if (distance2 < least) {
                least = distance2;
                best = f;
            }
        }
    }
    if (!(least < INFINITY)) {
        s->count = 4;
        return 0;
    }
    return quick_apply(s, &best);
}

/* To the closest feature that has the newest point. */
GJK_INLINE int quick_reduce(quick *s)
{
    feature f;
    double e0[3], e1[3];
    const double *n = s->p[3].x;
    if (s->count == 3) {
        return reduce_tetrahedron(s);
    }
    if (s->count == 2) {
        sub(e0, s->p[0].x, n);
        sub(e1, s->p[1].x, n);
        closest_feature(&f, n, e0, e1, 0, 1);
    } else if (s->count == 1) {
        sub(e0, s->p[0].x, n);
        double along = -dot(e0, n);
        if (along > 0.0) {
            feature_edge(&f, n, e0, along, dot(e0, e0), 0);
        } else {
            feature_vertex(&f, n);
        }
    } else {
        feature_vertex(&f, n);
    }
    return quick_apply(s, &f);
}

GJK_INLINE void quick_place(const query *q, const frame_a *f, gjk_point *p, int32_t a, int32_t b)
{
    double x[3];
    const double *y = q->a->vertices + 3 * (size_t)a;
    rotate(x, f->R, q->b->vertices + 3 * (size_t)b);
    p->x[0] = (x[0] - y[0]) + f->t[0];
    p->x[1] = (x[1] - y[1]) + f->t[1];
    p->x[2] = (x[2] - y[2]) + f->t[2];
    p->index_a = a;
    p->index_b = b;
}

GJK_INLINE void quick_support(const machine *has, query *q, const frame_a *f, gjk_point *p, const double d[3])
{
    double along_b[3];
    rotate_back(along_b, f->R, d);
    scale(along_b, -1.0, along_b);
    quick_place(q, f, p, has->farthest(q->a, d), has->farthest(q->b, along_b));
    ++q->iterations;
}

/* Takes up the closest feature of the last query, where it is one still: then all its weights are positive. */
GJK_INLINE int quick_resume(const query *q, const frame_a *f, quick *s, const gjk_cache *cache)
{
    int count = cache->count >= 1.0 && cache->count <= 3.0 ? (int)cache->count : 0;
    for (int k = 0; k < count; ++k) {
        double a = cache->index_a[k], b = cache->index_b[k];
        if (!(a >= 0.0 && a < q->a->count && b >= 0.0 && b < q->b->count)) {
            return 0;
        }
        quick_place(q, f, s->p + (k == count - 1 ? 3 : k), (int32_t)a, (int32_t)b);
    }
    s->count = count - 1;
    return count > 0 && quick_reduce(s) && s->count == count;
}

GJK_INLINE void quick_remember(const quick *s, gjk_cache *cache)
{
    cache->axis[0] = s->d[0];
    cache->axis[1] = s->d[1];
    cache->axis[2] = s->d[2];
    cache->count = s->count;
    /* What lies beyond the count was never set, and a cache may be saved as state. */
    for (int k = 0; k < 3; ++k) {
        cache->index_a[k] = k < s->count ? s->p[k].index_a : 0;
        cache->index_b[k] = k < s->count ? s->p[k].index_b : 0;
    }
}

/* Whether the newest point is of the feature. */
GJK_INLINE int quick_holds(const quick *s)
{
    int held = 0;
    for (int k = 0; k < 3; ++k) {
        held |= (k < s->count) & (s->p[k].index_a == s->p[3].index_a) & (s->p[k].index_b == s->p[3].index_b);
    }
    return held;
}

/* 0 if the weights do not give the point: those of a thin triangle lose digits. */
GJK_INLINE int quick_finish(const query *q, const quick *s, double short_of, closest *best)
{
    double off[3], x[3], per_whole = 1.0 / s->whole, per_size = 1.0 / s->size;
    scale(off, -per_size, s->d);
    for (int k = 0; k < 3; ++k) {
        best->weight[k] = k < s->count ? s->weight[k] * per_whole : 0.0;
        best->point[k].index_a = k < s->count ? s->p[k].index_a : 0;
        best->point[k].index_b = k < s->count ? s->p[k].index_b : 0;
        add_scaled(off, best->weight[k], s->p[k].x);
    }
    if (!(dot(off, off) <= q->tolerance * q->tolerance)) {
        return 0;
    }
    rotate(x, q->rotation_a, s->d);
    double length = norm(x), per_length = 1.0 / length;
    scale(best->normal, per_length, x);
    best->distance = length * per_size;
    best->lower = best->distance - larger(short_of, 0.0) * per_length;
    best->count = s->count;
    best->weight[3] = 0.0;
    best->point[3].index_a = best->point[3].index_b = 0;
    return 1;
}

/* 1, with best filled and certified, if the cores are apart and nothing went wrong; else 0. axis, in the frame of a, is
 * where to look first if the cache, which may be NULL, has no feature to go on from. After a 0, s has four points if they
 * may hold the origin between them. */
GJK_INLINE int descend_quickly(const machine *has, query *q, const frame_a *f, const double axis[3], gjk_cache *cache,
                               quick *s, closest *best)
{
    if (!(cache && quick_resume(q, f, s, cache))) {
        s->count = 0;
        quick_support(has, q, f, s->p + 3, axis);
        quick_reduce(s);
    }
    const double tolerance2 = q->tolerance * q->tolerance, rounding2 = q->rounding * q->rounding;
    double vv = s->dd / (s->size * s->size);
    for (int i = 0; i < QUICK_ITERATIONS; ++i) {
        /* Nearer than a thousand tolerances the careful descent has to look. */
        if (!(vv > 1e6 * tolerance2)) {
            return 0;
        }
        quick_support(has, q, f, s->p + 3, s->d);
        double short_of = s->dd / s->size - dot(s->d, s->p[3].x);
        if (short_of * short_of <= rounding2 * s->dd || quick_holds(s)) {
            if (cache) {
                quick_remember(s, cache);
            }
            return short_of * fabs(short_of) <= tolerance2 * s->dd && quick_finish(q, s, short_of, best);
        }
        if (!quick_reduce(s)) {
            return 0;
        }
        double now = s->dd / (s->size * s->size);
        if (!(now < vv)) {
            return 0;
        }
        vv = now;
    }
    return 0;
}

/* 1 if the cores are proved farther apart than margin, -1 if proved not to be, 0 if there was no quick proof. */
GJK_INLINE int compare_quickly(const machine *has, query *q, const frame_a *f, const double axis[3], double margin)
{
    quick s;
    s.count = 0;
    scale(s.d, 1.0, axis);
    s.dd = dot(axis, axis);
    double vv = INFINITY, beyond = margin + q->tolerance;
    for (int i = 0; i < QUICK_ITERATIONS; ++i) {
        quick_support(has, q, f, s.p + 3, s.d);
        double least = dot(s.d, s.p[3].x);
        if (least > 0.0 && least * least > beyond * beyond * s.dd) {
            return 1;
        }
        if (quick_holds(&s) || !quick_reduce(&s)) {
            return 0;
        }
        double now = s.dd / (s.size * s.size);
        if (now <= margin * margin) {
            return -1;
        }
        if (!(now < vv)) {
            return 0;
        }
        vv = now;
    }
    return 0;
}

#endif
