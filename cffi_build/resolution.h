/* Joint velocities of an arm with joints to spare: what the limits allow, how pairs of bodies part, and the velocity
 * that does tasks by priority.
 *
 * Matrices are row by row. Nothing is allocated and nothing is global; outputs must not overlap inputs. Joints are
 * slides and hinges, in rad and m as they come. No function checks that its inputs are finite: what is not, shows in
 * the answer. */
#ifndef RESOLUTION_H
#define RESOLUTION_H

#include <stdint.h>

typedef enum resolution_status {
    RESOLUTION_OK = 0,
    RESOLUTION_BAD_WEIGHT /* not positive definite */
} resolution_status;

/* Of each joint (n each), infinite where there is none. */
typedef struct resolution_limits {
    const double *low, *high, *speed, *acceleration;
} resolution_limits;

/* The least and greatest velocity of each joint for the next h s at q after velocity v, such that every limit can be
 * kept ever after: within the acceleration, within the speed, and able to brake before the end of the range. What moves
 * too fast already brakes as hard as it may: then both are the same. */
void resolution_bounds(int32_t n, const double *q, const double *v, const resolution_limits *limits, double h,
                       double *least, double *most);

/* Whether least <= v <= most, and rows v >= rates (count of them), each but for `rounding`. */
int32_t resolution_within(int32_t n, const double *v, const double *least, const double *most, int32_t count,
                          const double *rows, const double *rates, double rounding);

/* The joints of an arm where it stands. */
typedef struct resolution_joints {
    int32_t n;
    const double *axes, *anchors; /* n by 3, in the world */
    const uint8_t *slides;        /* n: 1 is a slide, 0 a hinge */
    const uint8_t *moves;         /* bodies by n: whether the joint moves the body */
} resolution_joints;

/* How fast pairs of points, fixed to a body each, part along the normal from the first to the second, per joint
 * velocity: rows, count by n. `witnesses` has point_a, point_b and normal (3 each) of every pair that there is, `bodies`
 * its two bodies; `pairs` names the count of them that are asked for. A joint that moves both bodies parts nothing. */
void resolution_partings(const resolution_joints *joints, int32_t count, const int32_t *pairs, const int32_t *bodies,
                         const double *witnesses, double *rows);

/* Tasks by priority: level i wants rates of sizes[i] rows of J, those of level 0 first; k rows in all. */
typedef struct resolution_tasks {
    int32_t n, levels;
    const int32_t *sizes;
    double nearly_singular; /* singular value of a level's rows, what the levels above it use being taken out, below
                               which it is damped ... */
    double damping;         /* ... smoothly, up to this part of its mean mobility */
} resolution_tasks;

/* Doubles of scratch that resolution_velocity wants for n joints and k rows. */
int32_t resolution_scratch(int32_t n, int32_t k);

/* The velocity, of all that do the tasks, nearest to `liked` in the metric W (n by n, symmetric; its lower half is
 * read). Level by level, each in the null space of those above it, whether these are damped or not:
 *   v <- v + Ji# (rate_i - J_i v), Ji# the damped W-weighted pseudoinverse of J_i in that null space. */
resolution_status resolution_velocity(const resolution_tasks *tasks, const double *W, const double *J,
                                      const double *rates, const double *liked, double *scratch, double *v);

/* The programme of one task, m rows of J: least v^T H v / 2 + f^T v is |J v - rates|^2 / 2 and `minding` times half the
 * square of v - liked in the metric W, made of mean 1. */
void resolution_programme(int32_t n, int32_t m, const double *W, const double *J, const double *rates,
                          const double *liked, double minding, double *H, double *f);

#endif
