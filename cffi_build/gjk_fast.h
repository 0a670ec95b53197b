/* Part of gjk.c: the quick descent. It takes the shortcuts that hold in exact arithmetic, and gives up without an answer
 * where rounding may have broken one: its answer counts only with the same certificate as the careful descent's. */
#ifndef GJK_FAST_H
#define GJK_FAST_H

#include "gjk_simplex.h"

/* The loop below is worth a copy of all it calls; a compiler that counts callers thinks otherwise. */
#if defined(__GNUC__)
#define GJK_INLINE static inline __attribute__((always_inline))
#else
#define GJK_INLINE static inline
#endif

/* Bodies that are apart need three to six; more is a sign of trouble. */
enum { QUICK_ITERATIONS = 32 };

/* The quick descent works in the frame of a: one rotation fewer a support point. */
typedef struct frame_a {
    double R[9]; /* of b */
    double t[3];
} frame_a;

typedef struct quick {
    double w[4][3];
    int32_t index_a[4], index_b[4];
    double weight[4];
    int count;
    double v[3]; /* closest point of the simplex to the origin */
} quick;

static inline void quick_move(quick *s, int to, int from)
{
    for (int i = 0; i < 3; ++i) {
        s->w[to][i] = s->w[from][i];
    }
    s->index_a[to] = s->index_a[from];
    s->index_b[to] = s->index_b[from];
}

/* Keeps the points listed, in rising order, with their weights. */
GJK_INLINE void quick_keep(quick *s, int count, const int *which, const double *weight)
{
    for (int k = 0; k < count; ++k) {
        if (which[k] != k) {
            quick_move(s, k, which[k]);
        }
        s->weight[k] = weight[k];
    }
    s->count = count;
}

/* A feature that holds the newest point: how many others it has, their weights, its closest point. */
typedef struct feature {
    int others;
    int other[2];
    double weight[2];
    double v[3];
} feature;

static inline void feature_vertex(feature *f, const double n[3])
{
    f->others = 0;
    for (int i = 0; i < 3; ++i) {
        f->v[i] = n[i];
    }
}

static inline void feature_edge(feature *f, const double n[3], const double e[3], double t, int other)
{
    f->others = 1;
    f->other[0] = other;
    f->weight[0] = t;
    for (int i = 0; i < 3; ++i) {
        f->v[i] = n[i] + t * e[i];
    }
}

/* Closest feature of the triangle of the newest point n and two others; the edge between those two is known not to be
 * it. eo are the edges from n. */
GJK_INLINE void closest_feature(feature *f, const double n[3], const double e0[3], const double e1[3], int other0,
                                   int other1)
{
    double d0 = -dot(e0, n), d1 = -dot(e1, n);
    double a00 = dot(e0, e0), a11 = dot(e1, e1), a01 = dot(e0, e1);
    double u0 = d0 * a11 - d1 * a01, u1 = d1 * a00 - d0 * a01;
    if (u0 > 0.0 && u1 > 0.0) {
        double m[3];
        cross(m, e0, e1);
        double mm = dot(m, m), k = dot(m, n) / mm, inverse = 1.0 / (a00 * a11 - a01 * a01);
        f->others = 2;
        f->other[0] = other0;
        f->other[1] = other1;
        f->weight[0] = u0 * inverse;
        f->weight[1] = u1 * inverse;
        for (int i = 0; i < 3; ++i) {
            f->v[i] = k * m[i];
        }
    } else if (d0 > 0.0 && u1 <= 0.0) {
        feature_edge(f, n, e0, d0 / a00, other0);
    } else if (d1 > 0.0 && u0 <= 0.0) {
        feature_edge(f, n, e1, d1 / a11, other1);
    } else {
        feature_vertex(f, n);
    }
}

/* 0 if the newest point got no weight: the step went wrong by rounding. */
GJK_INLINE int quick_apply(quick *s, const feature *f)
{
    int newest = s->count - 1, which[3];
    double weight[3], rest = 1.0;
    int first = f->others == 2 && f->other[0] > f->other[1];
    for (int k = 0; k < f->others; ++k) {
        which[k] = f->other[first ? 1 - k : k];
        weight[k] = f->weight[first ? 1 - k : k];
        rest -= weight[k];
    }
    which[f->others] = newest;
    weight[f->others] = rest;
    quick_keep(s, f->others + 1, which, weight);
    for (int i = 0; i < 3; ++i) {
        s->v[i] = f->v[i];
    }
    return rest > 0.0;
}

/* 0 if the tetrahedron may hold the origin. */
GJK_INLINE int reduce_tetrahedron(quick *s)
{
    static const int side[3][2] = {{0, 1}, {1, 2}, {2, 0}};
    const double *n = s->w[3];
    double e[3][3], least = INFINITY;
    feature best = {0};
    for (int k = 0; k < 3; ++k) {
        sub(e[k], s->w[k], n);
    }
    double m[3][3];
    for (int k = 0; k < 3; ++k) {
        cross(m[k], e[side[k][0]], e[side[k][1]]);
    }
    double volume = dot(m[0], e[2]);
    for (int k = 0; k < 3; ++k) {
        if (dot(m[k], n) * volume >= 0.0) {
            feature f;
            closest_feature(&f, n, e[side[k][0]], e[side[k][1]], side[k][0], side[k][1]);
            double distance2 = dot(f.v, f.v);
            if (distance2 < least) {
                least = distance2;
                best = f;
            }
        }
    }
    if (!(least < INFINITY)) {
        return 0;
    }
    return quick_apply(s, &best);
}

GJK_INLINE int quick_reduce(quick *s)
{
    feature f;
    double e0[3], e1[3];
    const double *n = s->w[s->count - 1];
    if (s->count == 4) {
        return reduce_tetrahedron(s);
    }
    if (s->count == 1) {
        feature_vertex(&f, n);
    } else if (s->count == 2) {
        sub(e0, s->w[0], n);
        double d = -dot(e0, n);
        if (d > 0.0) {
            feature_edge(&f, n, e0, d / dot(e0, e0), 0);
        } else {
            feature_vertex(&f, n);
        }
    } else {
        sub(e0, s->w[0], n);
        sub(e1, s->w[1], n);
        closest_feature(&f, n, e0, e1, 0, 1);
    }
    return quick_apply(s, &f);
}

GJK_INLINE void quick_place(const query *q, const frame_a *f, quick *s, int k, int32_t a, int32_t b)
{
    double x[3];
    rotate(x, f->R, q->b->vertices + 3 * (size_t)b);
    const double *y = q->a->vertices + 3 * (size_t)a;
    for (int i = 0; i < 3; ++i) {
        s->w[k][i] = (x[i] - y[i]) + f->t[i];
    }
    s->index_a[k] = a;
    s->index_b[k] = b;
}

GJK_INLINE void quick_support(query *q, const frame_a *f, quick *s, const double v[3])
{
    double along_b[3];
    rotate_back(along_b, f->R, v);
    for (int i = 0; i < 3; ++i) {
        along_b[i] = -along_b[i];
    }
    quick_place(q, f, s, s->count, farthest(q->a, v), farthest(q->b, along_b));
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
        quick_place(q, f, s, k, (int32_t)a, (int32_t)b);
    }
    s->count = count;
    return count > 0 && quick_reduce(s) && s->count == count;
}

static void quick_remember(const quick *s, gjk_cache *cache)
{
    memcpy(cache->axis, s->v, sizeof cache->axis);
    cache->count = s->count;
    for (int k = 0; k < s->count; ++k) {
        cache->index_a[k] = s->index_a[k];
        cache->index_b[k] = s->index_b[k];
    }
}

static inline int quick_holds(const quick *s)
{
    for (int k = 0; k < s->count; ++k) {
        if (s->index_a[k] == s->index_a[s->count] && s->index_b[k] == s->index_b[s->count]) {
            return 1;
        }
    }
    return 0;
}

/* 0 if the weights do not give the point: those of a thin triangle lose digits. */
static int quick_finish(const query *q, const quick *s, double short_of, closest *best)
{
    double off[3];
    scale(off, -1.0, s->v);
    for (int k = 0; k < s->count; ++k) {
        add_scaled(off, s->weight[k], s->w[k]);
    }
    if (!(dot(off, off) <= q->tolerance * q->tolerance)) {
        return 0;
    }
    rotate(best->x, q->rotation_a, s->v);
    best->distance = norm(best->x);
    double inverse = 1.0 / best->distance;
    scale(best->normal, inverse, best->x);
    best->lower = best->distance - larger(short_of, 0.0) * inverse;
    best->count = s->count;
    for (int k = 0; k < s->count; ++k) {
        best->weight[k] = s->weight[k];
        best->point[k].index_a = s->index_a[k];
        best->point[k].index_b = s->index_b[k];
    }
    return 1;
}

/* 1, with best filled and certified, if the cores are apart and nothing went wrong; else 0. axis, in the frame of a, is
 * where to look first if the cache, which may be NULL, has no feature to go on from. After a 0, s has four points if they
 * may hold the origin between them. */
static int descend_quickly(query *q, const frame_a *f, const double axis[3], gjk_cache *cache, quick *s, closest *best)
{
    if (!(cache && quick_resume(q, f, s, cache))) {
        s->count = 0;
        quick_support(q, f, s, axis);
        s->count = 1;
        s->weight[0] = 1.0;
        memcpy(s->v, s->w[0], sizeof s->v);
    }
    double vv = dot(s->v, s->v);
    const double tolerance2 = q->tolerance * q->tolerance, rounding2 = q->rounding * q->rounding;
    for (int i = 0; i < QUICK_ITERATIONS; ++i) {
        /* Nearer than a thousand tolerances the careful descent has to look. */
        if (!(vv > 1e6 * tolerance2)) {
            return 0;
        }
        quick_support(q, f, s, s->v);
        double short_of = vv - dot(s->v, s->w[s->count]);
        if (short_of * short_of <= rounding2 * vv || quick_holds(s)) {
            if (cache) {
                quick_remember(s, cache);
            }
            return short_of * fabs(short_of) <= tolerance2 * vv && quick_finish(q, s, short_of, best);
        }
        ++s->count;
        if (!quick_reduce(s)) {
            return 0;
        }
        double now = dot(s->v, s->v);
        if (!(now < vv)) {
            return 0;
        }
        vv = now;
    }
    return 0;
}

/* 1 if the cores are proved farther apart than margin, -1 if proved not to be, 0 if there was no quick proof. */
static int compare_quickly(query *q, const frame_a *f, const double axis[3], double margin)
{
    quick s;
    s.count = 0;
    memcpy(s.v, axis, sizeof s.v);
    double vv = dot(axis, axis), beyond = margin + q->tolerance;
    for (int i = 0; i < QUICK_ITERATIONS; ++i) {
        quick_support(q, f, &s, s.v);
        double least = dot(s.v, s.w[s.count]);
        if (least > 0.0 && least * least > beyond * beyond * vv) {
            return 1;
        }
        if (quick_holds(&s)) {
            return 0;
        }
        ++s.count;
        if (!quick_reduce(&s)) {
            return 0;
        }
        double now = dot(s.v, s.v);
        if (now <= margin * margin) {
            return -1;
        }
        if (i > 0 && !(now < vv)) {
            return 0;
        }
        vv = now;
    }
    return 0;
}

#endif
