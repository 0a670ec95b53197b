/* Part of gjk.c: penetration depth by the shortcuts that hold in exact arithmetic. In the frame of a, each face measured
 * once by its plane alone. The nearest face, and those that a new point sees, are found by looking at all: a new point
 * takes k faces away and brings k + 2, which fill the gaps, so the faces lie without holes, in lanes, and are looked at
 * in fours without a branch. It gives up without an answer where rounding may have broken a shortcut; the careful EPA
 * then decides.
 *
 * What is certified does not rest on the shortcuts. Along any unit n the least n.v over a triangle's corners bounds the
 * triangle's distance from below: that is a face's offset here, however thin the face. The surface is closed, since the
 * border of what was cut away is checked to be one loop. It winds round the origin once no face is doubtful: then the
 * solid angles, each positive beyond rounding, sum to a positive multiple of 4 pi. */
#ifndef GJK_EPA_FAST_H
#define GJK_EPA_FAST_H

#include "gjk_epa.h"
#include "gjk_fast.h"

/* Triangles that one new point may bring; more than some twenty are a sign of trouble. */
enum { QUICK_FAN = 64 };

typedef struct quick_hull {
    query *q;
    const frame_a *f;
    gjk_workspace *work;
    int32_t points, faces;
    int32_t doubtful; /* faces that may not see the origin from inside */
} quick_hull;

/* Which of the keys is the least; beyond the count come GJK_LANES of infinity. */
GJK_INLINE int32_t least_plain(const double *keys, int32_t count)
{
    int32_t best = 0;
    for (int32_t k = 1; k < count; ++k) {
        best = keys[k] < keys[best] ? k : best;
    }
    return best;
}

/* Notes in work->seen which faces w sees, and lists them on the stack. */
GJK_INLINE int32_t look_plain(gjk_workspace *work, int32_t count, const double w[3])
{
    int32_t seen = 0;
    for (int32_t k = 0; k < count; ++k) {
        double along = work->normal[0][k] * w[0] + work->normal[1][k] * w[1] + work->normal[2][k] * w[2];
        work->seen[k] = along > work->sight[k];
        work->stack[seen] = k;
        seen += work->seen[k];
    }
    return seen;
}

#ifdef GJK_HAVE_AVX2
GJK_AVX2 GJK_INLINE int32_t least_avx2(const double *keys, int32_t count)
{
    const __m256i step = _mm256_set1_epi64x(4);
    const __m256d sign = _mm256_set1_pd(-0.0);
    __m256i at = _mm256_setr_epi64x(0, 1, 2, 3);
    leader best = {_mm256_xor_pd(sign, _mm256_loadu_pd(keys)), at};
    for (int32_t k = 4; k < count; k += 4) {
        at = _mm256_add_epi64(at, step);
        follow(&best, _mm256_xor_pd(sign, _mm256_loadu_pd(keys + k)), at);
    }
    int64_t where[4];
    _mm256_storeu_si256((__m256i *)where, best.where);
    unsigned mask = equal_mask(best.most, spread_max(best.most));
    int32_t least = (int32_t)where[mask ? __builtin_ctz(mask) : 0];
    return least < count ? least : 0;
}

GJK_AVX2 GJK_INLINE int32_t look_avx2(gjk_workspace *work, int32_t count, const double w[3])
{
    const __m256d x = _mm256_set1_pd(w[0]), y = _mm256_set1_pd(w[1]), z = _mm256_set1_pd(w[2]);
    int32_t seen = 0;
    for (int32_t base = 0; base < count; base += 64) {
        uint64_t bits = 0;
        for (int32_t k = base; k < base + 64 && k < count; k += 4) {
            __m256d along = _mm256_mul_pd(x, _mm256_loadu_pd(work->normal[0] + k));
            along = _mm256_fmadd_pd(y, _mm256_loadu_pd(work->normal[1] + k), along);
            along = _mm256_fmadd_pd(z, _mm256_loadu_pd(work->normal[2] + k), along);
            __m256d beyond = _mm256_cmp_pd(along, _mm256_loadu_pd(work->sight + k), _CMP_GT_OQ);
            uint32_t four = (uint32_t)_mm256_movemask_pd(beyond), bytes = four * 0x00204081u & 0x01010101u;
            memcpy(work->seen + k, &bytes, sizeof bytes);
            bits |= (uint64_t)four << (k - base);
        }
        for (; bits; bits &= bits - 1) {
            work->stack[seen++] = base + (int32_t)__builtin_ctzll(bits);
        }
    }
    return seen;
}
#endif

/* Puts the triangles from point w to the horizon, which is one loop, in the places listed on the stack. */
GJK_INLINE void add_fan(quick_hull *m, int32_t w, int32_t count)
{
    gjk_workspace *work = m->work;
    const gjk_point *points = work->points;
    const gjk_edge *horizon = work->horizon;
    const double *o = points[w].x, rounding = m->q->rounding, doubt = rounding * rounding;
    double x[QUICK_FAN + 1], y[QUICK_FAN + 1], z[QUICK_FAN + 1], length2[QUICK_FAN + 1];
    double nx[QUICK_FAN], ny[QUICK_FAN], nz[QUICK_FAN], sight[QUICK_FAN], key[QUICK_FAN], sure[QUICK_FAN];
    for (int32_t k = 0; k <= count; ++k) {
        const double *p = points[k < count ? horizon[k].from : horizon[k - 1].to].x;
        x[k] = p[0] - o[0];
        y[k] = p[1] - o[1];
        z[k] = p[2] - o[2];
        length2[k] = x[k] * x[k] + y[k] * y[k] + z[k] * z[k];
    }
    for (int32_t k = 0; k < count; ++k) {
        double n0 = y[k] * z[k + 1] - z[k] * y[k + 1], n1 = z[k] * x[k + 1] - x[k] * z[k + 1];
        double n2 = x[k] * y[k + 1] - y[k] * x[k + 1], nn = n0 * n0 + n1 * n1 + n2 * n2;
        double from = n0 * x[k] + n1 * y[k] + n2 * z[k], to = n0 * x[k + 1] + n1 * y[k + 1] + n2 * z[k + 1];
        double least = from < to ? from : to;
        double offset = n0 * o[0] + n1 * o[1] + n2 * o[2] + (least < 0.0 ? least : 0.0);
        nx[k] = n0;
        ny[k] = n1;
        nz[k] = n2;
        /* Faces in one plane with a new point count as seen, so that no new triangle lies along an old edge. */
        sight[k] = offset - 0.25 * rounding * (fabs(n0) + fabs(n1) + fabs(n2));
        /* A face with no area comes first, and ends the search. */
        key[k] = nn > 0.0 ? offset * fabs(offset) / nn : -INFINITY;
        /* offset is the determinant of the corners; what is taken off bounds its error. */
        sure[k] = offset * fabs(offset) - doubt * length2[k] * length2[k + 1];
    }
    for (int32_t k = 0; k < count; ++k) {
        int32_t slot = work->stack[k], doubtful = !(sure[k] > 0.0);
        gjk_side *f = work->sides + slot;
        work->normal[0][slot] = nx[k];
        work->normal[1][slot] = ny[k];
        work->normal[2][slot] = nz[k];
        work->sight[slot] = sight[k];
        work->key[slot] = key[k];
        f->vertex[0] = horizon[k].from;
        f->vertex[1] = horizon[k].to;
        f->vertex[2] = w;
        f->doubtful = doubtful;
        m->doubtful += doubtful;
    }
}

/* From face m->faces on nothing is nearest, and nothing seen. */
static inline void end_lanes(quick_hull *m)
{
    for (int k = 0; k < GJK_LANES; ++k) {
        m->work->key[m->faces + k] = m->work->sight[m->faces + k] = INFINITY;
    }
}

/* Unit normal of a face and, along it, the nearest of its corners; NaN if the face has no area. */
static inline double unit_normal(const quick_hull *m, int32_t face, double n[3])
{
    const gjk_workspace *work = m->work;
    const int32_t *vertex = work->sides[face].vertex;
    double raw[3] = {work->normal[0][face], work->normal[1][face], work->normal[2][face]};
    scale(n, 1.0 / norm(raw), raw);
    double along[3];
    for (int i = 0; i < 3; ++i) {
        along[i] = dot(n, work->points[vertex[i]].x);
    }
    double least = along[1] < along[0] ? along[1] : along[0];
    return along[2] < least ? along[2] : least;
}

/* Point of b - a farthest along d. */
GJK_INLINE void support_quickly(const machine *has, quick_hull *m, const double d[3], gjk_point *w)
{
    double along_a[3], along_b[3];
    scale(along_a, -1.0, d);
    rotate_back(along_b, m->f->R, d);
    quick_place(m->q, m->f, w, has->farthest(m->q->a, along_a), has->farthest(m->q->b, along_b));
    ++m->q->iterations;
}

/* Lists the edges between the faces on the stack and the rest, in order, each beginning where the one before ends. 0 if
 * they are not one loop. */
static inline int32_t find_horizon(quick_hull *m, int32_t seen)
{
    gjk_workspace *work = m->work;
    gjk_edge border[QUICK_FAN + 3];
    int32_t count = 0;
    for (int32_t k = 0; k < seen && count <= QUICK_FAN; ++k) {
        const gjk_side *f = work->sides + work->stack[k];
        m->doubtful -= f->doubtful;
        for (int i = 0; i < 3; ++i) {
            border[count] = (gjk_edge){f->vertex[i], f->vertex[i == 2 ? 0 : i + 1], f->across[i], 0};
            count += !work->seen[f->across[i]];
        }
    }
    if (count != seen + 2 || count > QUICK_FAN) {
        return 0;
    }
    for (int32_t k = 0; k < count; ++k) {
        work->fan[border[k].from] = k;
    }
    int32_t at = 0;
    for (int32_t k = 0; k < count; ++k) {
        gjk_edge *e = work->horizon + k;
        *e = border[at];
        const int32_t *vertex = work->sides[e->outer].vertex;
        e->side = (vertex[1] == e->to) + 2 * (vertex[2] == e->to);
        at = work->fan[e->to];
        if (at < 0 || at >= count || border[at].from != e->to || (at == 0) != (k == count - 1)) {
            return 0;
        }
    }
    return count;
}

/* Replaces what w sees by the fan from w to the border. 0 if there is no room or the border is no loop. */
GJK_INLINE int expand_quickly(const machine *has, quick_hull *m, const gjk_point *w)
{
    gjk_workspace *work = m->work;
    int32_t count = find_horizon(m, has->look(work, m->faces, w->x));
    if (count < 3 || m->faces + 2 > GJK_MAX_FACES || m->points == GJK_MAX_POINTS) {
        return 0;
    }
    work->stack[count - 2] = m->faces++;
    work->stack[count - 1] = m->faces++;
    end_lanes(m);
    work->points[m->points] = *w;
    add_fan(m, m->points++, count);
    for (int32_t k = 0; k < count; ++k) {
        const gjk_edge *e = work->horizon + k;
        gjk_side *f = work->sides + work->stack[k];
        f->across[0] = e->outer;
        f->across[1] = work->stack[k + 1 < count ? k + 1 : 0];
        f->across[2] = work->stack[k > 0 ? k - 1 : count - 1];
        work->sides[e->outer].across[e->side] = work->stack[k];
    }
    return 1;
}

/* The tetrahedron: a triangle, and the fan from the fourth point to its edges. */
static inline void hull_init(quick_hull *m, const gjk_point *p)
{
    static const gjk_edge edge[3] = {{0, 2, 0, 2}, {2, 1, 0, 1}, {1, 0, 0, 0}};
    static const int32_t across[4][3] = {{3, 2, 1}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};
    double e[3][3], n[3];
    gjk_workspace *work = m->work;
    for (int k = 0; k < 3; ++k) {
        sub(e[k], p[k + 1].x, p[0].x);
    }
    cross(n, e[0], e[1]);
    int outward = dot(n, e[2]) < 0.0;
    for (int k = 0; k < 4; ++k) {
        work->points[outward || k > 1 ? k : 1 - k] = p[k];
    }
    work->horizon[0] = (gjk_edge){0, 1, 0, 0};
    work->stack[0] = 0;
    add_fan(m, 2, 1);
    for (int k = 0; k < 3; ++k) {
        work->horizon[k] = edge[k];
        work->stack[k] = k + 1;
    }
    add_fan(m, 3, 3);
    for (int k = 0; k < 4; ++k) {
        memcpy(work->sides[k].across, across[k], sizeof across[k]);
    }
    m->points = m->faces = 4;
    end_lanes(m);
}

static int is_known(const quick_hull *m, const gjk_point *w)
{
    for (int32_t k = 0; k < m->points; ++k) {
        const gjk_point *p = m->work->points + k;
        if (p->index_a == w->index_a && p->index_b == w->index_b) {
            return 1;
        }
    }
    return 0;
}

/* Weights of the foot in a face nearly square to n. Returns the least, or -infinity if the face does not look along
 * n. */
static double weigh_foot(const quick_hull *m, int32_t face, const double n[3], const double foot[3], double weight[3])
{
    double from_foot[3][3], t[3], whole = 0.0;
    for (int i = 0; i < 3; ++i) {
        sub(from_foot[i], m->work->points[m->work->sides[face].vertex[i]].x, foot);
    }
    for (int i = 0; i < 3; ++i) {
        cross(t, from_foot[(i + 1) % 3], from_foot[(i + 2) % 3]);
        weight[i] = dot(n, t);
        whole += weight[i];
    }
    if (!(whole > 0.0)) {
        return -INFINITY;
    }
    scale(weight, 1.0 / whole, weight);
    return fmin(fmin(weight[0], weight[1]), weight[2]);
}

/* The nearest point as a mix of corners. Where several faces lie in the nearest plane the foot is in one of them. 0 if
 * no face holds it within the tolerance. */
static int quick_witness(const quick_hull *m, int32_t nearest, const double n[3], double offset, closest *best)
{
    int32_t holder = nearest;
    const double tolerance = m->q->tolerance;
    double foot[3], weight[3], x[3] = {0.0, 0.0, 0.0}, sum = 0.0;
    scale(foot, offset, n);
    double most = weigh_foot(m, nearest, n, foot, weight);
    for (int32_t k = 0; most < 0.0 && k < m->faces; ++k) {
        double candidate[3], unit[3];
        if (unit_normal(m, k, unit) <= offset + tolerance) {
            double least = weigh_foot(m, k, n, foot, candidate);
            if (least > most) {
                most = least;
                holder = k;
                memcpy(weight, candidate, sizeof weight);
            }
        }
    }
    if (!(most > -INFINITY)) {
        return 0;
    }
    best->count = 3;
    for (int i = 0; i < 3; ++i) {
        best->point[i] = m->work->points[m->work->sides[holder].vertex[i]];
        weight[i] = fmax(weight[i], 0.0);
        sum += weight[i];
    }
    for (int i = 0; i < 3; ++i) {
        best->weight[i] = weight[i] / sum;
        add_scaled(x, best->weight[i], best->point[i].x);
    }
    double normal[3];
    rotate(best->x, m->q->rotation_a, x);
    rotate(normal, m->q->rotation_a, n);
    scale(best->normal, -1.0 / norm(normal), normal);
    best->distance = norm(best->x);
    drop_weightless(best);
    return fabs(dot(n, x) - offset) <= tolerance && deviation(best->x, best->normal) <= tolerance;
}

/* From the four points where the quick descent ended: 1, with best and both bounds filled and certified, if the cores
 * overlap and nothing went wrong; else 0. */
GJK_INLINE int inflate_quickly(const machine *has, query *q, const frame_a *f, const gjk_point *tetrahedron,
                               gjk_workspace *work, closest *best, double *upper)
{
    quick_hull m = {.q = q, .f = f, .work = work};
    hull_init(&m, tetrahedron);
    for (int i = 0; i < GJK_MAX_POINTS; ++i) {
        int32_t nearest = has->least(work->key, m.faces);
        /* The support point needs no unit normal, and is not kept waiting for it. */
        double raw[3] = {work->normal[0][nearest], work->normal[1][nearest], work->normal[2][nearest]}, n[3];
        gjk_point w;
        support_quickly(has, &m, raw, &w);
        double offset = unit_normal(&m, nearest, n), along = dot(n, w.x), gap = along - offset;
        if (!(offset > -q->rounding && along > 0.0)) {
            return 0;
        }
        if (gap <= q->rounding || (gap <= q->tolerance && is_known(&m, &w))) {
            best->lower = -along;
            *upper = -offset;
            return m.doubtful == 0 && quick_witness(&m, nearest, n, offset, best);
        }
        if (!expand_quickly(has, &m, &w)) {
            return 0;
        }
    }
    return 0;
}

#endif
