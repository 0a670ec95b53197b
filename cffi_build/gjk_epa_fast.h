/* Part of gjk.c: penetration depth by the shortcuts that hold in exact arithmetic. In the frame of a, each face measured
 * once by its plane alone, the nearest taken from a heap, the horizon by walking from face to face. It gives up without
 * an answer where rounding may have broken a shortcut; the careful EPA then decides.
 *
 * What is certified does not rest on the shortcuts. Along any unit n the least n.v over a triangle's corners bounds the
 * triangle's distance from below: that is a face's offset here, however thin the face. The surface is closed, since the
 * border of what was cut away is checked to be a loop. It winds round the origin once no face is doubtful: then the
 * solid angles, each positive beyond rounding, sum to a positive multiple of 4 pi. */
#ifndef GJK_EPA_FAST_H
#define GJK_EPA_FAST_H

#include "gjk_epa.h"
#include "gjk_fast.h"

/* Slots are never used twice; a sphere-like pair that needs more is left to the careful EPA. */
enum { QUICK_FACES = GJK_MAX_FACES / 2 };
/* Triangles that one new point may bring; more than some twenty are a sign of trouble. */
enum { QUICK_FAN = 64 };

typedef struct quick_hull {
    query *q;
    const frame_a *f;
    gjk_workspace *work;
    int32_t points, faces, heap;
    int32_t doubtful; /* faces that may not see the origin from inside */
    double ceiling;   /* a face with a greater key, its offset squared, is not the nearest */
} quick_hull;

static inline void heap_push(quick_hull *m, double key, int32_t face)
{
    gjk_entry *heap = m->work->heap;
    int32_t at = m->heap++;
    while (at > 0 && heap[(at - 1) / 2].key > key) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = (gjk_entry){key, face};
}

static int32_t heap_pop(quick_hull *m)
{
    gjk_entry *heap = m->work->heap, last = heap[--m->heap];
    int32_t top = heap[0].face, at = 0;
    for (int32_t child = 1; child < m->heap; child = 2 * at + 1) {
        child += child + 1 < m->heap && heap[child + 1].key < heap[child].key;
        if (!(heap[child].key < last.key)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return top;
}

/* Nearest face still there, or -1. */
static int32_t heap_nearest(quick_hull *m)
{
    while (m->heap > 0) {
        int32_t face = heap_pop(m);
        if (m->work->sides[face].alive) {
            return face;
        }
    }
    return -1;
}

/* Adds the triangles from point w to the edges of the horizon, numbered from m->faces on; their neighbours are the
 * caller's. By coordinate, and without a branch, so that the compiler can take several at a time. */
static void add_fan(quick_hull *m, int32_t w, int32_t count)
{
    const gjk_point *points = m->work->points;
    const gjk_edge *horizon = m->work->horizon;
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
        int32_t doubtful = !(sure[k] > 0.0);
        m->work->sides[m->faces + k] = (gjk_side){.normal = {nx[k], ny[k], nz[k]},
                                                  .sight = sight[k],
                                                  .vertex = {horizon[k].from, horizon[k].to, w},
                                                  .alive = 1,
                                                  .doubtful = doubtful};
        m->doubtful += doubtful;
        if (!(key[k] > m->ceiling)) {
            heap_push(m, key[k], m->faces + k);
        }
    }
    m->faces += count;
}

/* Unit normal of a face and, along it, the nearest of its corners; NaN if the face has no area. */
static inline double unit_normal(const quick_hull *m, const gjk_side *f, double n[3])
{
    const gjk_point *points = m->work->points;
    scale(n, 1.0 / norm(f->normal), f->normal);
    double least = dot(n, points[f->vertex[0]].x);
    for (int i = 1; i < 3; ++i) {
        double along = dot(n, points[f->vertex[i]].x);
        least = along < least ? along : least;
    }
    return least;
}

/* Point of b - a farthest along n; returns how far. */
GJK_INLINE double support_quickly(const machine *has, quick_hull *m, const double n[3], gjk_point *w)
{
    const query *q = m->q;
    double along_a[3], along_b[3], x[3];
    scale(along_a, -1.0, n);
    rotate_back(along_b, m->f->R, n);
    w->index_a = has->farthest(q->a, along_a);
    w->index_b = has->farthest(q->b, along_b);
    rotate(x, m->f->R, q->b->vertices + 3 * (size_t)w->index_b);
    const double *y = q->a->vertices + 3 * (size_t)w->index_a;
    for (int i = 0; i < 3; ++i) {
        w->x[i] = (x[i] - y[i]) + m->f->t[i];
    }
    ++m->q->iterations;
    return dot(n, w->x);
}

static inline void cut_away(quick_hull *m, gjk_side *f)
{
    f->alive = 0;
    m->doubtful -= f->doubtful;
}

/* Cuts away what w sees from the face on, and lists the border in order. The walk turns to the next edge
 * counter-clockwise at each face, so that one border edge begins where the one before ends. */
static int32_t walk_horizon(quick_hull *m, const gjk_point *w, int32_t first)
{
    static const int32_t after[3] = {1, 2, 0};
    gjk_workspace *work = m->work;
    int32_t depth = 0, count = 0, *stack = work->stack;
    cut_away(m, work->sides + first);
    for (int32_t i = 2; i >= 0; --i) {
        stack[depth++] = 4 * first + i;
    }
    while (depth > 0) {
        int32_t top = stack[--depth], edge = top & 3;
        const gjk_side *f = work->sides + (top >> 2);
        int32_t to = f->vertex[after[edge]], across = f->across[edge];
        gjk_side *g = work->sides + across;
        if (!g->alive) {
            continue;
        }
        int32_t i = g->vertex[0] == to ? 0 : g->vertex[1] == to ? 1 : 2;
        if (dot(g->normal, w->x) > g->sight) {
            cut_away(m, g);
            stack[depth++] = 4 * across + after[after[i]];
            stack[depth++] = 4 * across + after[i];
        } else {
            work->horizon[count++] = (gjk_edge){f->vertex[edge], to, across, i};
        }
    }
    return count;
}

/* Replaces what w sees by the fan from w to the border. 0 if there is no room or the border is no loop. */
static int expand_quickly(quick_hull *m, const gjk_point *w, int32_t face)
{
    gjk_workspace *work = m->work;
    int32_t count = walk_horizon(m, w, face), base = m->faces;
    if (count < 3 || count > QUICK_FAN || base + count > QUICK_FACES || m->points == GJK_MAX_POINTS) {
        return 0;
    }
    work->points[m->points] = *w;
    add_fan(m, m->points++, count);
    for (int32_t k = 0; k < count; ++k) {
        const gjk_edge *e = work->horizon + k;
        int32_t next = k + 1 < count ? k + 1 : 0, before = k > 0 ? k - 1 : count - 1;
        if (e->to != work->horizon[next].from) {
            return 0;
        }
        gjk_side *f = work->sides + base + k;
        f->across[0] = e->outer;
        f->across[1] = base + next;
        f->across[2] = base + before;
        work->sides[e->outer].across[e->side] = base + k;
    }
    return 1;
}

/* The tetrahedron: a triangle, and the fan from the fourth point to its edges. */
static void hull_init(quick_hull *m, const gjk_point *p)
{
    static const gjk_edge edge[3] = {{0, 2, 0, 2}, {2, 1, 0, 1}, {1, 0, 0, 0}};
    static const int32_t across[4][3] = {{3, 2, 1}, {0, 2, 3}, {0, 3, 1}, {0, 1, 2}};
    double e[3][3], n[3];
    for (int k = 0; k < 3; ++k) {
        sub(e[k], p[k + 1].x, p[0].x);
    }
    cross(n, e[0], e[1]);
    int outward = dot(n, e[2]) < 0.0;
    for (int k = 0; k < 4; ++k) {
        m->work->points[outward || k > 1 ? k : 1 - k] = p[k];
    }
    m->points = 4;
    m->work->horizon[0] = (gjk_edge){0, 1, 0, 0};
    add_fan(m, 2, 1);
    for (int k = 0; k < 3; ++k) {
        m->work->horizon[k] = edge[k];
    }
    add_fan(m, 3, 3);
    for (int k = 0; k < 4; ++k) {
        memcpy(m->work->sides[k].across, across[k], sizeof across[k]);
    }
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
static double weigh_foot(const quick_hull *m, const gjk_side *f, const double n[3], const double foot[3],
                         double weight[3])
{
    double from_foot[3][3], t[3], whole = 0.0;
    for (int i = 0; i < 3; ++i) {
        sub(from_foot[i], m->work->points[f->vertex[i]].x, foot);
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
static int quick_witness(const quick_hull *m, const gjk_side *nearest, const double n[3], double offset, closest *best)
{
    const gjk_side *sides = m->work->sides, *holder = nearest;
    const double tolerance = m->q->tolerance;
    double foot[3], weight[3], x[3] = {0.0, 0.0, 0.0}, sum = 0.0;
    scale(foot, offset, n);
    double most = weigh_foot(m, nearest, n, foot, weight);
    for (int32_t k = 0; most < 0.0 && k < m->faces; ++k) {
        double candidate[3], unit[3];
        if (sides[k].alive && unit_normal(m, sides + k, unit) <= offset + tolerance) {
            double least = weigh_foot(m, sides + k, n, foot, candidate);
            if (least > most) {
                most = least;
                holder = sides + k;
                memcpy(weight, candidate, sizeof weight);
            }
        }
    }
    if (!(most > -INFINITY)) {
        return 0;
    }
    best->count = 3;
    for (int i = 0; i < 3; ++i) {
        best->point[i] = m->work->points[holder->vertex[i]];
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
    quick_hull m = {.q = q, .f = f, .work = work, .ceiling = INFINITY};
    hull_init(&m, tetrahedron);
    for (int i = 0; i < QUICK_FACES; ++i) {
        int32_t face = heap_nearest(&m);
        if (face < 0) {
            return 0;
        }
        const gjk_side *nearest = work->sides + face;
        double n[3], offset = unit_normal(&m, nearest, n);
        if (!(offset > -q->rounding)) {
            return 0;
        }
        gjk_point w;
        double along = support_quickly(has, &m, n, &w), gap = along - offset;
        if (!(along > 0.0)) {
            return 0;
        }
        if (gap <= q->rounding || (gap <= q->tolerance && is_known(&m, &w))) {
            best->lower = -along;
            *upper = -offset;
            return m.doubtful == 0 && quick_witness(&m, nearest, n, offset, best);
        }
        double ceiling = along + q->rounding;
        m.ceiling = fmin(m.ceiling, ceiling * ceiling);
        if (!expand_quickly(&m, &w, face)) {
            return 0;
        }
    }
    return 0;
}

#endif
