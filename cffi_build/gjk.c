#include "gjk_epa_fast.h"

static int in_range(const double *x, int count)
{
    for (int i = 0; i < count; ++i) {
        if (!(fabs(x[i]) <= GJK_MAX_COORDINATE)) {
            return 0;
        }
    }
    return 1;
}

int32_t gjk_lanes_size(int32_t count)
{
    return 3 * ROW * ((count + ROW - 1) / ROW);
}

static int has_avx2(void)
{
#ifdef GJK_HAVE_AVX2
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
    return 0;
#endif
}

gjk_status gjk_body_init(gjk_body *body, const double *vertices, int32_t count, double radius, double *lanes)
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
    *body = (gjk_body){.vertices = vertices,
                       .lanes = lanes,
                       .count = count,
                       .padded = gjk_lanes_size(count) / 3,
                       .wide = has_avx2(),
                       .radius = radius};
    for (int i = 0; i < 3; ++i) {
        body->centre[i] = 0.5 * (low[i] + high[i]);
        for (int32_t k = 0; k < body->padded; ++k) {
            int32_t source = k < count ? k : count - 1;
            lanes[(size_t)i * (size_t)body->padded + (size_t)k] = vertices[3 * (size_t)source + (size_t)i];
        }
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

void gjk_body_climb(gjk_body *body, const int32_t *first, const int32_t *neighbours, int32_t *starts)
{
    for (int axis = 0; axis < 3; ++axis) {
        for (int sign = 0; sign < 2; ++sign) {
            for (int cell = 0; cell < CELLS * CELLS; ++cell) {
                double middle[2] = {2.0 * (cell / CELLS + 0.5) / CELLS - 1.0, 2.0 * (cell % CELLS + 0.5) / CELLS - 1.0};
                double d[3];
                d[axis] = sign ? -1.0 : 1.0;
                d[axis == 0] = middle[0];
                d[axis == 2 ? 1 : 2] = middle[1];
                starts[cell_of(d)] = farthest(body, d);
            }
        }
    }
    body->first = first;
    body->neighbours = neighbours;
    body->starts = starts;
}

static inline double sum_of_sizes(const double u[3])
{
    return fabs(u[0]) + fabs(u[1]) + fabs(u[2]);
}

/* By how much the first two rows miss being unit and square to each other, and the third being their product. */
GJK_INLINE double rotation_error(const double R[9])
{
    const double *x = R, *y = R + 3, *z = R + 6;
    double third[3];
    cross(third, x, y);
    sub(third, third, z);
    return fabs(dot(x, x) - 1.0) + fabs(dot(y, y) - 1.0) + fabs(dot(x, y)) + sum_of_sizes(third);
}

int gjk_is_pose(const gjk_pose *pose)
{
    return rotation_error(pose->rotation) <= GJK_ROTATION_TOLERANCE &&
           sum_of_sizes(pose->translation) <= GJK_MAX_COORDINATE;
}

/* The pose of b in the frame of a, and the errors of both rotations. */
GJK_INLINE void relate_plain(frame_a *f, const gjk_pose *a, const gjk_pose *b, const double offset[3],
                             double errors[2])
{
    const double *A = a->rotation, *B = b->rotation;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            f->R[3 * i + j] = A[i] * B[j] + A[3 + i] * B[3 + j] + A[6 + i] * B[6 + j];
        }
    }
    rotate_back(f->t, A, offset);
    errors[0] = rotation_error(A);
    errors[1] = rotation_error(B);
}

#ifdef GJK_HAVE_AVX2
GJK_AVX2 GJK_INLINE __m256d mix_rows(double u, double v, double w, const __m256d rows[3])
{
    __m256d sum = _mm256_mul_pd(_mm256_set1_pd(u), rows[0]);
    sum = _mm256_fmadd_pd(_mm256_set1_pd(v), rows[1], sum);
    return _mm256_fmadd_pd(_mm256_set1_pd(w), rows[2], sum);
}

/* The four terms of a rotation's error. */
GJK_AVX2 GJK_INLINE __m256d error_terms(const __m256d rows[3])
{
    const __m256d zero = _mm256_setzero_pd(), sign = _mm256_set1_pd(-0.0);
    __m256d x = _mm256_blend_pd(rows[0], zero, 8), y = _mm256_blend_pd(rows[1], zero, 8);
    __m256d turned = _mm256_mul_pd(_mm256_permute4x64_pd(x, 0xc9), y);
    __m256d third = _mm256_fmsub_pd(x, _mm256_permute4x64_pd(y, 0xc9), turned);
    third = _mm256_sub_pd(third, _mm256_permute4x64_pd(_mm256_blend_pd(rows[2], zero, 8), 0xd2));
    third = _mm256_andnot_pd(sign, third);
    __m256d lengths = _mm256_hadd_pd(_mm256_mul_pd(x, x), _mm256_mul_pd(y, y));
    __m256d others = _mm256_hadd_pd(_mm256_mul_pd(x, y), third);
    __m256d sums = _mm256_add_pd(_mm256_permute2f128_pd(lengths, others, 0x20),
                                 _mm256_permute2f128_pd(lengths, others, 0x31));
    return _mm256_andnot_pd(sign, _mm256_sub_pd(sums, _mm256_setr_pd(1.0, 1.0, 0.0, 0.0)));
}

/* A row of three is loaded and stored as four; the fourth is the next row's first, and overwritten by it. */
GJK_AVX2 GJK_INLINE void relate_avx2(frame_a *f, const gjk_pose *a, const gjk_pose *b, const double offset[3],
                                     double errors[2])
{
    const double *A = a->rotation, *B = b->rotation;
    const __m256d rows_a[3] = {_mm256_loadu_pd(A), _mm256_loadu_pd(A + 3), _mm256_loadu_pd(A + 6)};
    const __m256d rows_b[3] = {_mm256_loadu_pd(B), _mm256_loadu_pd(B + 3), _mm256_loadu_pd(B + 6)};
    _mm256_storeu_pd(f->R, mix_rows(A[0], A[3], A[6], rows_b));
    _mm256_storeu_pd(f->R + 3, mix_rows(A[1], A[4], A[7], rows_b));
    _mm256_storeu_pd(f->R + 6, mix_rows(A[2], A[5], A[8], rows_b));
    _mm256_storeu_pd(f->t, mix_rows(offset[0], offset[1], offset[2], rows_a));
    __m256d pairs = _mm256_hadd_pd(error_terms(rows_a), error_terms(rows_b));
    _mm_storeu_pd(errors, _mm_add_pd(_mm256_castpd256_pd128(pairs), _mm256_extractf128_pd(pairs, 1)));
}
#endif

/* Sets up a query, the frame of a, and in that frame the way from the middle of a to that of b. A NaN
 * fails the comparisons, which are all one branch. */
GJK_INLINE gjk_status query_init(const machine *has, query *q, frame_a *f, double middles[3], const gjk_body *a,
                                 const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b)
{
    double errors[2];
    sub(q->offset, pose_b->translation, pose_a->translation);
    has->relate(f, pose_a, pose_b, q->offset, errors);
    int rotated = (errors[0] <= GJK_ROTATION_TOLERANCE) & (errors[1] <= GJK_ROTATION_TOLERANCE);
    int within = (sum_of_sizes(pose_a->translation) <= GJK_MAX_COORDINATE) &
                 (sum_of_sizes(pose_b->translation) <= GJK_MAX_COORDINATE);
    if (!(rotated & within)) {
        return GJK_BAD_POSE;
    }
    q->a = a;
    q->b = b;
    q->rotation_a = pose_a->rotation;
    q->rotation_b = pose_b->rotation;
    q->iterations = 0;
    rotate(middles, f->R, b->centre);
    for (int i = 0; i < 3; ++i) {
        middles[i] += f->t[i] - a->centre[i];
    }
    double extent = sum_of_sizes(middles) + a->bound + b->bound;
    double coordinates = sum_of_sizes(f->t) + a->reach + b->reach;
    q->tolerance = GJK_GAP * extent + GJK_ROUNDING * coordinates;
    q->rounding = 16.0 * DBL_EPSILON * (extent + coordinates);
    q->quick = errors[0] <= GJK_ROUNDING && q->rounding > QUICK_LEAST_ROUNDING && q->rounding < QUICK_MOST_ROUNDING;
    return GJK_OK;
}

/* c has no point without a weight, and zeros from its count on. */
GJK_INLINE void write_result(const query *q, const gjk_pose *pose_a, const closest *c, double distance,
                             gjk_result *result)
{
    double mix_a[3] = {0.0, 0.0, 0.0}, mix_b[3] = {0.0, 0.0, 0.0}, core_a[3], core_b[3];
    for (int k = 0; k < 4; ++k) {
        result->barycentric[k] = c->weight[k];
        result->index_a[k] = c->point[k].index_a;
        result->index_b[k] = c->point[k].index_b;
        if (k < 3 || c->count == 4) {
            add_scaled(mix_a, c->weight[k], q->a->vertices + 3 * (size_t)c->point[k].index_a);
            add_scaled(mix_b, c->weight[k], q->b->vertices + 3 * (size_t)c->point[k].index_b);
        }
    }
    rotate(core_a, q->rotation_a, mix_a);
    rotate(core_b, q->rotation_b, mix_b);
    result->count = c->count;
    result->iterations = q->iterations;
    result->distance = distance - (q->a->radius + q->b->radius);
    for (int i = 0; i < 3; ++i) {
        double n = c->normal[i];
        result->normal[i] = n;
        result->point_a[i] = pose_a->translation[i] + (core_a[i] + q->a->radius * n);
        result->point_b[i] = pose_a->translation[i] + ((core_b[i] + q->offset[i]) - q->b->radius * n);
    }
}

/* Where to look first, in the frame of a: along the cached axis if there is one. */
GJK_INLINE void first_axis(double axis[3], const double middles[3], const gjk_cache *cache)
{
    double size = cache ? dot(cache->axis, cache->axis) : 0.0;
    memcpy(axis, size > 0.0 && size < INFINITY ? cache->axis : middles, 3 * sizeof *axis);
}

/* One search from a first direction: 1 and the certified answer in best, or 0; a bracket in any case. */
static int search(query *q, const double towards_b[3], gjk_workspace *work, closest *best, double *lower, double *upper)
{
    memset(best, 0, sizeof *best);
    outcome found = descend(q, towards_b, NAN, best, lower, upper);
    int overlap = found == INSIDE || found == TOUCHING;
    if (overlap && (find_feature(q, best) || found == TOUCHING) && raise_to_tetrahedron(q, best)) {
        found = APART;
    }
    int certified = found == APART;
    if (certified) {
        *lower = best->lower;
        *upper = best->distance;
    } else if (overlap && best->count == 4) {
        certified = inflate(q, work, best->point, best, lower, upper);
    }
    return certified && deviation(best->x, best->normal) <= q->tolerance;
}

/* Of a million pairs one or two that touch end with a bracket just wider than the tolerance; from elsewhere they do
 * not. */
static gjk_status distance_carefully(query *q, const double middles[3], const gjk_pose *pose_a, gjk_workspace *work,
                                     gjk_result *result)
{
    closest best;
    double swept = q->a->radius + q->b->radius, first[4][3] = {{0.0}, {1.0}, {0.0, 1.0}, {0.0, 0.0, 1.0}};
    double lower, upper;
    int certified = 0;
    rotate(first[0], q->rotation_a, middles);
    for (int k = 0; k < 4 && !certified; ++k) {
        certified = search(q, first[k], work, &best, &lower, &upper);
    }
    *result = (gjk_result){.distance = NAN,
                           .lower = fmin(lower, upper) - swept,
                           .upper = fmax(lower, upper) - swept,
                           .iterations = q->iterations};
    if (!certified) {
        return GJK_NOT_CONVERGED;
    }
    drop_weightless(&best);
    write_result(q, pose_a, &best, dot(best.normal, best.x), result);
    return GJK_OK;
}

/* What the quick descent leaves undone; tetrahedron is NULL unless it may hold the origin. */
typedef struct rest {
    query q;
    frame_a f;
    double middles[3];
    gjk_point *tetrahedron;
} rest;

GJK_INLINE gjk_status finish_with(const machine *has, rest *r, const gjk_pose *pose_a, gjk_cache *cache,
                                  gjk_workspace *work, gjk_result *result)
{
    query *q = &r->q;
    double swept = q->a->radius + q->b->radius, upper;
    closest best;
    if (!(r->tetrahedron && inflate_quickly(has, q, &r->f, r->tetrahedron, work, &best, &upper))) {
        return distance_carefully(q, r->middles, pose_a, work, result);
    }
    if (cache) {
        rotate_back(cache->axis, q->rotation_a, best.normal);
        cache->count = 0.0;
    }
    result->lower = best.lower - swept;
    result->upper = upper - swept;
    write_result(q, pose_a, &best, dot(best.normal, best.x), result);
    return GJK_OK;
}

GJK_INLINE gjk_status distance_with(const machine *has, const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b,
                                    const gjk_pose *pose_b, gjk_cache *cache, gjk_workspace *work, gjk_result *result)
{
    query q;
    closest best;
    frame_a f;
    double middles[3], axis[3];
    gjk_status status = query_init(has, &q, &f, middles, a, pose_a, b, pose_b);
    if (status != GJK_OK) {
        return status;
    }
    first_axis(axis, middles, cache);
    quick s;
    s.count = 0;
    if (q.quick && descend_quickly(has, &q, &f, axis, cache, &s, &best)) {
        double swept = a->radius + b->radius;
        result->lower = best.lower - swept;
        result->upper = best.distance - swept;
        write_result(&q, pose_a, &best, best.distance, result);
        return GJK_OK;
    }
    /* Copies, since what another function may write to cannot stay in registers. */
    gjk_point tetrahedron[4];
    rest r = {q, f, {middles[0], middles[1], middles[2]}, s.count == 4 ? tetrahedron : NULL};
    for (int k = 0; k < 4 && s.count == 4; ++k) {
        copy_point(tetrahedron + k, s.p + k);
    }
    return has->finish(&r, pose_a, cache, work, result);
}

GJK_NOINLINE gjk_status intersects_carefully(query *q, const double middles[3], int32_t *answer)
{
    closest best = {0};
    double swept = q->a->radius + q->b->radius, towards_b[3], lower, upper;
    rotate(towards_b, q->rotation_a, middles);
    outcome found = descend(q, towards_b, swept, &best, &lower, &upper);
    if (found == UNDECIDED) {
        *answer = -1;
        return GJK_NOT_CONVERGED;
    }
    *answer = found != APART || !(lower > swept + q->tolerance);
    return GJK_OK;
}

GJK_INLINE gjk_status intersects_with(const machine *has, const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b,
                                      const gjk_pose *pose_b, int32_t *answer)
{
    query q;
    frame_a f;
    double middles[3];
    gjk_status status = query_init(has, &q, &f, middles, a, pose_a, b, pose_b);
    if (status != GJK_OK) {
        return status;
    }
    int quickly = q.quick ? compare_quickly(has, &q, &f, middles, a->radius + b->radius) : 0;
    if (quickly == 0) {
        query kept = q;
        double towards[3] = {middles[0], middles[1], middles[2]};
        return intersects_carefully(&kept, towards, answer);
    }
    *answer = quickly < 0;
    return GJK_OK;
}

static gjk_status finish_plain(rest *r, const gjk_pose *pose_a, gjk_cache *cache, gjk_workspace *work,
                               gjk_result *result);
static const machine plain = {search_plain, relate_plain, least_plain, look_plain, finish_plain};

GJK_NOINLINE gjk_status finish_plain(rest *r, const gjk_pose *pose_a, gjk_cache *cache, gjk_workspace *work,
                                     gjk_result *result)
{
    return finish_with(&plain, r, pose_a, cache, work, result);
}

#ifdef GJK_HAVE_AVX2
static gjk_status finish_avx2(rest *r, const gjk_pose *pose_a, gjk_cache *cache, gjk_workspace *work,
                              gjk_result *result);
static const machine avx2 = {search_avx2, relate_avx2, least_avx2, look_avx2, finish_avx2};

GJK_AVX2 GJK_NOINLINE gjk_status finish_avx2(rest *r, const gjk_pose *pose_a, gjk_cache *cache, gjk_workspace *work,
                                             gjk_result *result)
{
    return finish_with(&avx2, r, pose_a, cache, work, result);
}

GJK_AVX2 static gjk_status distance_avx2(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b,
                                         const gjk_pose *pose_b, gjk_cache *cache, gjk_workspace *work,
                                         gjk_result *result)
{
    return distance_with(&avx2, a, pose_a, b, pose_b, cache, work, result);
}

GJK_AVX2 static gjk_status intersects_avx2(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b,
                                           const gjk_pose *pose_b, int32_t *answer)
{
    return intersects_with(&avx2, a, pose_a, b, pose_b, answer);
}
#endif

gjk_status gjk_distance(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
                        gjk_cache *cache, gjk_workspace *work, gjk_result *result)
{
#ifdef GJK_HAVE_AVX2
    if (a->wide) {
        return distance_avx2(a, pose_a, b, pose_b, cache, work, result);
    }
#endif
    return distance_with(&plain, a, pose_a, b, pose_b, cache, work, result);
}

gjk_status gjk_intersects(const gjk_body *a, const gjk_pose *pose_a, const gjk_body *b, const gjk_pose *pose_b,
                          int32_t *answer)
{
#ifdef GJK_HAVE_AVX2
    if (a->wide) {
        return intersects_avx2(a, pose_a, b, pose_b, answer);
    }
#endif
    return intersects_with(&plain, a, pose_a, b, pose_b, answer);
}
