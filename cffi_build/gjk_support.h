/* Part of gjk.c: a query, and the farthest vertex of a body along a direction: by looking at all vertices, four at a
 * time where the machine can, or by climbing along the edges of a large hull. */
#ifndef GJK_SUPPORT_H
#define GJK_SUPPORT_H

#include "gjk.h"
#include "gjk_vector.h"

#include <float.h>
#include <string.h>

/* GJK_PLAIN is for tests: what other machines do. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(GJK_PLAIN)
#define GJK_HAVE_AVX2 1
#include <immintrin.h>
#define GJK_AVX2 __attribute__((target("avx2,fma")))
#endif

/* Loops that are worth a copy of all they call; a compiler that counts callers thinks otherwise. */
#if defined(__GNUC__)
#define GJK_INLINE static inline __attribute__((always_inline))
#define GJK_NOINLINE static __attribute__((noinline))
#else
#define GJK_INLINE static inline
#define GJK_NOINLINE static
#endif

/* Vertices come in rows of this many, the last one repeated to fill. */
enum { ROW = 8 };
/* Directions to start a climb from: each face of a cube in CELLS x CELLS. */
enum { CELLS = 16 };

typedef struct query {
    const gjk_body *a, *b;
    const double *rotation_a, *rotation_b;
    double offset[3]; /* from the origin of a to the origin of b, world axes */
    double tolerance; /* of the certificate */
    double rounding;  /* gap that arithmetic alone may leave */
    int32_t iterations;
    int quick; /* a's rotation is good enough to work in its frame, and the size usual */
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

static inline int32_t farthest_plain(const gjk_body *body, const double d[3])
{
    const double *x = body->lanes, *y = x + body->padded, *z = y + body->padded;
    int32_t best = 0;
    double most = -INFINITY;
    for (int32_t k = 0; k < body->count; ++k) {
        double along = x[k] * d[0] + y[k] * d[1] + z[k] * d[2];
        if (along > most) {
            most = along;
            best = k;
        }
    }
    return best;
}

#ifdef GJK_HAVE_AVX2
typedef struct lanes4 {
    __m256d X, Y, Z;
    const double *x, *y, *z;
} lanes4;

GJK_AVX2 GJK_INLINE lanes4 aim(const gjk_body *body, const double d[3])
{
    const double *x = body->lanes;
    return (lanes4){_mm256_set1_pd(d[0]), _mm256_set1_pd(d[1]), _mm256_set1_pd(d[2]),
                    x, x + body->padded, x + 2 * (size_t)body->padded};
}

GJK_AVX2 GJK_INLINE __m256d along4(const lanes4 *l, int32_t k)
{
    __m256d sum = _mm256_mul_pd(l->X, _mm256_load_pd(l->x + k));
    sum = _mm256_fmadd_pd(l->Y, _mm256_load_pd(l->y + k), sum);
    return _mm256_fmadd_pd(l->Z, _mm256_load_pd(l->z + k), sum);
}

/* The largest of four numbers, in every lane. */
GJK_AVX2 GJK_INLINE __m256d spread_max(__m256d m)
{
    m = _mm256_max_pd(m, _mm256_permute2f128_pd(m, m, 1));
    return _mm256_max_pd(m, _mm256_permute_pd(m, 5));
}

GJK_AVX2 GJK_INLINE unsigned equal_mask(__m256d u, __m256d v)
{
    return (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(u, v, _CMP_EQ_OQ));
}

/* In each lane the greatest, and which vertex gave it first. */
typedef struct leader {
    __m256d most;
    __m256i where;
} leader;

GJK_AVX2 GJK_INLINE void follow(leader *best, __m256d along, __m256i at)
{
    __m256i more = _mm256_castpd_si256(_mm256_cmp_pd(along, best->most, _CMP_GT_OQ));
    best->where = _mm256_blendv_epi8(best->where, at, more);
    best->most = _mm256_max_pd(along, best->most);
}

/* Two leaders take turns, so that one need not wait for the other. */
GJK_AVX2 GJK_INLINE int32_t farthest_avx2(const gjk_body *body, const double d[3])
{
    lanes4 l = aim(body, d);
    const int32_t end = (body->count + 3) & ~3;
    const __m256i step = _mm256_set1_epi64x(8);
    __m256i at_even = _mm256_setr_epi64x(0, 1, 2, 3), at_odd = _mm256_setr_epi64x(4, 5, 6, 7);
    leader even = {along4(&l, 0), at_even}, odd = {along4(&l, 4), at_odd};
    int32_t k = 8;
    for (; k + 4 < end; k += 8) {
        at_even = _mm256_add_epi64(at_even, step);
        at_odd = _mm256_add_epi64(at_odd, step);
        follow(&even, along4(&l, k), at_even);
        follow(&odd, along4(&l, k + 4), at_odd);
    }
    if (k < end) {
        follow(&even, along4(&l, k), _mm256_add_epi64(at_even, step));
    }
    follow(&even, odd.most, odd.where);
    int64_t where[4];
    _mm256_storeu_si256((__m256i *)where, even.where);
    unsigned mask = equal_mask(even.most, spread_max(even.most));
    int32_t best = (int32_t)where[mask ? __builtin_ctz(mask) : 0];
    return best < body->count ? best : body->count - 1;
}
#endif

GJK_INLINE int cell_of(const double d[3])
{
    double size[3] = {fabs(d[0]), fabs(d[1]), fabs(d[2])};
    int axis = size[0] >= size[1] ? (size[0] >= size[2] ? 0 : 2) : (size[1] >= size[2] ? 1 : 2);
    double scale_to_cell = 0.5 * CELLS / size[axis];
    int i = (int)(d[axis == 0] * scale_to_cell + 0.5 * CELLS);
    int j = (int)(d[axis == 2 ? 1 : 2] * scale_to_cell + 0.5 * CELLS);
    i = i < 0 ? 0 : i >= CELLS ? CELLS - 1 : i;
    j = j < 0 ? 0 : j >= CELLS ? CELLS - 1 : j;
    return ((2 * axis + (d[axis] < 0.0)) * CELLS + i) * CELLS + j;
}

/* On a convex hull a vertex with no better neighbour is the best of all; each hop goes up, so there are at most as
 * many as vertices. */
GJK_INLINE int32_t farthest_climbing(const gjk_body *body, const double d[3])
{
    const double *v = body->vertices;
    int32_t best = body->starts[cell_of(d)];
    double most = dot(v + 3 * (size_t)best, d);
    for (int32_t hop = 0; hop < body->count; ++hop) {
        int32_t next = best;
        for (int32_t e = body->first[best]; e < body->first[best + 1]; ++e) {
            int32_t candidate = body->neighbours[e];
            double along = dot(v + 3 * (size_t)candidate, d);
            if (along > most) {
                most = along;
                next = candidate;
            }
        }
        if (next == best) {
            break;
        }
        best = next;
    }
    return best;
}

/* Climbing stays a call: inlined it would take registers from the scan. */
GJK_NOINLINE int32_t climb_plain(const gjk_body *body, const double d[3])
{
    return farthest_climbing(body, d);
}

GJK_INLINE int32_t search_plain(const gjk_body *body, const double d[3])
{
    return body->first ? climb_plain(body, d) : farthest_plain(body, d);
}

#ifdef GJK_HAVE_AVX2
GJK_AVX2 GJK_NOINLINE int32_t climb_avx2(const gjk_body *body, const double d[3])
{
    return farthest_climbing(body, d);
}

GJK_AVX2 GJK_INLINE int32_t search_avx2(const gjk_body *body, const double d[3])
{
    return body->first ? climb_avx2(body, d) : farthest_avx2(body, d);
}

GJK_AVX2 GJK_NOINLINE int32_t farthest_wide(const gjk_body *body, const double d[3])
{
    return search_avx2(body, d);
}
#endif

/* As the machine can, asked each time. */
static int32_t farthest(const gjk_body *body, const double d[3])
{
#ifdef GJK_HAVE_AVX2
    if (body->wide) {
        return farthest_wide(body, d);
    }
#endif
    return search_plain(body, d);
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

#endif
