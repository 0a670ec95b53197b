#include "resolution.h"

#include <math.h>
#include <string.h>

/* Of a row, what is left of it in a null space is rounding below this part of its length. */
static const double ROUNDING_LEFT = 1e-11;
/* Jacobi's method converges quadratically: a symmetric matrix of the size of a task takes four to eight sweeps. */
enum { SWEEPS = 30 };

/* The greatest speed for the next step of h s after which a stop within `distance` is still possible, in whole steps;
 * infinite where distance or acceleration is. */
static double braking_speed(double distance, double acceleration, double h)
{
    if (!isfinite(distance) || !isfinite(acceleration))
        return INFINITY;
    /* In units of a h for speed and a h^2 for distance, a stop from u with n = floor(u) further steps covers
     * u + (u - 1) + ... + (u - n) = (n + 1) u - n (n + 1) / 2, which is to be x. */
    const double x = distance / (acceleration * h * h);
    const double n = floor((sqrt(1.0 + 8.0 * x) - 1.0) / 2.0);
    return (x / (n + 1.0) + 0.5 * n) * acceleration * h;
}

void resolution_bounds(int32_t n, const double *q, const double *v, const resolution_limits *limits, double h,
                       double *least, double *most)
{
    for (int32_t i = 0; i < n; i++) {
        const double a = limits->acceleration[i];
        const double down = braking_speed(fmax(q[i] - limits->low[i], 0.0), a, h);
        const double up = braking_speed(fmax(limits->high[i] - q[i], 0.0), a, h);
        least[i] = fmax(fmax(-limits->speed[i], -down), v[i] - a * h);
        most[i] = fmin(fmin(limits->speed[i], up), v[i] + a * h);
        if (least[i] > most[i])
            least[i] = most[i] = v[i] > 0.0 ? v[i] - a * h : v[i] + a * h;
    }
}

static double dot(int32_t n, const double *a, const double *b)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void add(int32_t n, double *a, double factor, const double *b)
{
    for (int32_t i = 0; i < n; i++)
        a[i] += factor * b[i];
}

int32_t resolution_within(int32_t n, const double *v, const double *least, const double *most, int32_t count,
                          const double *rows, const double *rates, double rounding)
{
    for (int32_t i = 0; i < n; i++)
        if (!(v[i] >= least[i] - rounding && v[i] <= most[i] + rounding))
            return 0;
    for (int32_t i = 0; i < count; i++)
        if (!(dot(n, rows + i * n, v) >= rates[i] - rounding))
            return 0;
    return 1;
}

/* Velocity along the normal of a point that joint j moves, per velocity of the joint. */
static double carried(const resolution_joints *joints, int32_t j, const double *point, const double *normal)
{
    const double *axis = joints->axes + 3 * j, *anchor = joints->anchors + 3 * j;
    if (joints->slides[j])
        return dot(3, axis, normal);
    const double x = point[0] - anchor[0], y = point[1] - anchor[1], z = point[2] - anchor[2];
    return normal[0] * (axis[1] * z - axis[2] * y) + normal[1] * (axis[2] * x - axis[0] * z) +
           normal[2] * (axis[0] * y - axis[1] * x);
}

void resolution_partings(const resolution_joints *joints, int32_t count, const int32_t *pairs, const int32_t *bodies,
                         const double *witnesses, double *rows)
{
    const int32_t n = joints->n;
    for (int32_t i = 0; i < count; i++) {
        const double *point_a = witnesses + 9 * pairs[i], *point_b = point_a + 3, *normal = point_a + 6;
        const uint8_t *moves_a = joints->moves + bodies[2 * pairs[i]] * n;
        const uint8_t *moves_b = joints->moves + bodies[2 * pairs[i] + 1] * n;
        for (int32_t j = 0; j < n; j++) {
            double rate = 0.0;
            if (moves_b[j] && !moves_a[j])
                rate = carried(joints, j, point_b, normal);
            else if (moves_a[j] && !moves_b[j])
                rate = -carried(joints, j, point_a, normal);
            rows[i * n + j] = rate;
        }
    }
}

/* The lower half of M becomes L with M = L L^T; 0 where M is not positive definite. */
static int32_t factorise(int32_t n, double *M)
{
    for (int32_t i = 0; i < n; i++)
        for (int32_t j = 0; j <= i; j++) {
            const double left = M[i * n + j] - dot(j, M + i * n, M + j * n);
            if (j < i)
                M[i * n + j] = left / M[j * n + j];
            else if (left > 0.0)
                M[i * n + i] = sqrt(left);
            else
                return 0;
        }
    return 1;
}

/* x becomes L^-1 x. */
static void solve_down(int32_t n, const double *L, double *x)
{
    for (int32_t i = 0; i < n; i++)
        x[i] = (x[i] - dot(i, L + i * n, x)) / L[i * n + i];
}

/* x becomes L^-T x. */
static void solve_up(int32_t n, const double *L, double *x)
{
    for (int32_t i = n - 1; i >= 0; i--) {
        x[i] /= L[i * n + i];
        add(i, x, -x[i], L + i * n);
    }
}

/* G, m by m, becomes rows rows^T. */
static void square(int32_t m, int32_t n, const double *rows, double *G)
{
    for (int32_t i = 0; i < m; i++)
        for (int32_t j = 0; j <= i; j++)
            G[i * m + j] = G[j * m + i] = dot(n, rows + i * n, rows + j * n);
}

static double trace(int32_t m, const double *G)
{
    double sum = 0.0;
    for (int32_t i = 0; i < m; i++)
        sum += G[i * m + i];
    return sum;
}

/* Turns G in the plane of i and j so that G[i][j] becomes 0. */
static void rotate(int32_t m, double *G, int32_t i, int32_t j)
{
    const double t2 = (G[j * m + j] - G[i * m + i]) / (2.0 * G[i * m + j]);
    const double t = copysign(1.0, t2) / (fabs(t2) + sqrt(1.0 + t2 * t2));
    const double c = 1.0 / sqrt(1.0 + t * t), s = c * t;
    for (int32_t k = 0; k < m; k++) {
        const double a = G[i * m + k], b = G[j * m + k];
        G[i * m + k] = c * a - s * b;
        G[j * m + k] = s * a + c * b;
    }
    for (int32_t k = 0; k < m; k++) {
        const double a = G[k * m + i], b = G[k * m + j];
        G[k * m + i] = c * a - s * b;
        G[k * m + j] = s * a + c * b;
    }
}

/* The least eigenvalue of G, m by m, symmetric, by Jacobi's method; G is used up. */
static double least_eigenvalue(int32_t m, double *G)
{
    const double small = 1e-18 * trace(m, G);
    for (int32_t sweep = 0; sweep < SWEEPS; sweep++) {
        int32_t turned = 0;
        for (int32_t i = 0; i < m; i++)
            for (int32_t j = i + 1; j < m; j++)
                if (fabs(G[i * m + j]) > small) {
                    rotate(m, G, i, j);
                    turned = 1;
                }
        if (!turned)
            break;
    }
    double least = G[0];
    for (int32_t i = 1; i < m; i++)
        least = fmin(least, G[i * m + i]);
    return least;
}

/* The part of its mean mobility that a level of m rows is damped by: from 0 where its least singular value is
 * nearly_singular up to `damping` where that is 0. G and trial (m by m each) are scratch. */
static double damping_of(const resolution_tasks *tasks, int32_t m, const double *rows, double *G, double *trial)
{
    const double enough = tasks->nearly_singular * tasks->nearly_singular;
    square(m, tasks->n, rows, G);
    memcpy(trial, G, sizeof(double) * (size_t)(m * m));
    for (int32_t i = 0; i < m; i++)
        trial[i * m + i] -= enough;
    /* A square that stays positive definite less `enough` has no smaller eigenvalue: the usual case, and quick. */
    if (factorise(m, trial))
        return 0.0;
    const double missing = 1.0 - fmin(fmax(0.0, least_eigenvalue(m, G)), enough) / enough;
    return tasks->damping * missing * missing;
}

/* Takes out of the rows below the first m what lies along these, which become orthonormal or, where nothing but
 * rounding is left of them, 0. `lengths` are those of the first m before anything was taken out of them. */
static void take_out(int32_t m, int32_t below, int32_t n, double *rows, const double *lengths)
{
    for (int32_t i = 0; i < m; i++) {
        double *own = rows + i * n;
        const double length = sqrt(dot(n, own, own));
        if (length <= ROUNDING_LEFT * lengths[i]) {
            memset(own, 0, sizeof(double) * (size_t)n);
            continue;
        }
        for (int32_t j = 0; j < n; j++)
            own[j] /= length;
        /* Twice: after the first time, rounding of what was long is left. */
        for (int32_t k = i + 1; k < m + below; k++)
            for (int32_t again = 0; again < 2; again++)
                add(n, rows + k * n, -dot(n, rows + k * n, own), own);
    }
}

/* Where the parts of the scratch lie. */
typedef struct room {
    double *L;             /* n by n: W = L L^T */
    double *A;             /* k by n: J L^-T, what the levels above use taken out; then the metric of L^T v is plain */
    double *plain;         /* k by n: J, what the levels above use taken out in the plain metric */
    double *G, *trial;     /* k by k */
    double *lengths, *plain_lengths, *mobilities, *x; /* k */
    double *step;          /* n */
} room;

int32_t resolution_scratch(int32_t n, int32_t k)
{
    return n * n + 2 * k * n + 2 * k * k + 4 * k + n;
}

static room divide(int32_t n, int32_t k, double *scratch)
{
    room r;
    r.L = scratch;
    r.A = r.L + n * n;
    r.plain = r.A + k * n;
    r.G = r.plain + k * n;
    r.trial = r.G + k * k;
    r.lengths = r.trial + k * k;
    r.plain_lengths = r.lengths + k;
    r.mobilities = r.plain_lengths + k;
    r.x = r.mobilities + k;
    r.step = r.x + k;
    return r;
}

/* v + Ji# (rate - J v) for the m rows from `first` on. */
static void do_level(const resolution_tasks *tasks, const room *r, int32_t first, int32_t m, const double *J,
                     const double *rates, double *v)
{
    const int32_t n = tasks->n;
    const double *rows = r->A + first * n;
    double mobility = 0.0;
    for (int32_t i = first; i < first + m; i++)
        mobility += r->mobilities[i] / m;
    const double damping = damping_of(tasks, m, r->plain + first * n, r->G, r->trial) * mobility;
    square(m, n, rows, r->G);
    for (int32_t i = 0; i < m; i++) {
        r->G[i * m + i] += damping;
        r->x[i] = rates[first + i] - dot(n, J + (first + i) * n, v);
    }
    /* Rows of nothing but zeros move nothing. */
    if (!factorise(m, r->G))
        return;
    solve_down(m, r->G, r->x);
    solve_up(m, r->G, r->x);
    memset(r->step, 0, sizeof(double) * (size_t)n);
    for (int32_t i = 0; i < m; i++)
        add(n, r->step, r->x[i], rows + i * n);
    solve_up(n, r->L, r->step);
    add(n, v, 1.0, r->step);
}

resolution_status resolution_velocity(const resolution_tasks *tasks, const double *W, const double *J,
                                      const double *rates, const double *liked, double *scratch, double *v)
{
    const int32_t n = tasks->n;
    int32_t k = 0;
    for (int32_t level = 0; level < tasks->levels; level++)
        k += tasks->sizes[level];
    const room r = divide(n, k, scratch);
    memcpy(r.L, W, sizeof(double) * (size_t)(n * n));
    if (!factorise(n, r.L))
        return RESOLUTION_BAD_WEIGHT;
    memcpy(r.A, J, sizeof(double) * (size_t)(k * n));
    memcpy(r.plain, J, sizeof(double) * (size_t)(k * n));
    for (int32_t i = 0; i < k; i++) {
        double *row = r.A + i * n;
        solve_down(n, r.L, row);
        r.mobilities[i] = dot(n, row, row);
        r.lengths[i] = sqrt(r.mobilities[i]);
        r.plain_lengths[i] = sqrt(dot(n, J + i * n, J + i * n));
    }
    memcpy(v, liked, sizeof(double) * (size_t)n);
    for (int32_t level = 0, first = 0; level < tasks->levels; level++) {
        const int32_t m = tasks->sizes[level], below = k - first - m;
        do_level(tasks, &r, first, m, J, rates, v);
        if (below) {
            take_out(m, below, n, r.A + first * n, r.lengths + first);
            take_out(m, below, n, r.plain + first * n, r.plain_lengths + first);
        }
        first += m;
    }
    return RESOLUTION_OK;
}

void resolution_programme(int32_t n, int32_t m, const double *W, const double *J, const double *rates,
                          const double *liked, double minding, double *H, double *f)
{
    const double share = minding * n / trace(n, W);
    for (int32_t i = 0; i < n; i++) {
        f[i] = -share * dot(n, W + i * n, liked);
        for (int32_t j = 0; j < n; j++)
            H[i * n + j] = share * W[i * n + j];
    }
    for (int32_t k = 0; k < m; k++) {
        const double *row = J + k * n;
        add(n, f, -rates[k], row);
        for (int32_t i = 0; i < n; i++)
            add(n, H + i * n, row[i], row);
    }
}
