#include "gjk_motion.h"
#include "gjk_vector.h"

#include <string.h>

static int is_finite3(const double u[3])
{
    return isfinite(u[0]) && isfinite(u[1]) && isfinite(u[2]);
}

/* Rotation by the vector u: axis times angle (Rodrigues). */
static void rotation_by(double R[9], const double u[3])
{
    double angle = norm(u);
    /* sin x / x and (1 - cos x) / x^2, by their series where the quotients lose digits. */
    double s = angle > 1e-4 ? sin(angle) / angle : 1.0 - angle * angle / 6.0;
    double h = 0.5 * angle;
    double half = h > 1e-4 ? sin(h) / h : 1.0 - h * h / 6.0;
    double c = 0.5 * half * half;
    double x = u[0], y = u[1], z = u[2];
    const double turn[9] = {
        1.0 - c * (y * y + z * z), c * x * y - s * z, c * x * z + s * y,
        c * x * y + s * z, 1.0 - c * (x * x + z * z), c * y * z - s * x,
        c * x * z - s * y, c * y * z + s * x, 1.0 - c * (x * x + y * y),
    };
    memcpy(R, turn, sizeof turn);
}

void gjk_motion_at(const gjk_motion *motion, double time, gjk_pose *pose)
{
    double turn[9], u[3];
    scale(u, time, motion->spin);
    rotation_by(turn, u);
    const double *R = motion->pose.rotation;
    for (int i = 0; i < 3; ++i) {
        for (int j = 0; j < 3; ++j) {
            pose->rotation[3 * i + j] = turn[3 * i] * R[j] + turn[3 * i + 1] * R[3 + j] + turn[3 * i + 2] * R[6 + j];
        }
        pose->translation[i] = motion->pose.translation[i] + time * motion->velocity[i];
    }
}

/* The fastest that the bodies can approach along n, from a to b, whatever they turn. */
static double approach(const gjk_body *a, const gjk_motion *motion_a, const gjk_body *b, const gjk_motion *motion_b,
                       const double n[3])
{
    double straight = dot(motion_a->velocity, n) - dot(motion_b->velocity, n);
    return straight + norm(motion_a->spin) * (a->reach + a->radius) + norm(motion_b->spin) * (b->reach + b->radius);
}

gjk_status gjk_time_of_impact(const gjk_body *a, const gjk_motion *motion_a, const gjk_body *b,
                              const gjk_motion *motion_b, double horizon, double tolerance, gjk_workspace *work,
                              gjk_impact *impact)
{
    if (!is_finite3(motion_a->velocity) || !is_finite3(motion_a->spin) || !is_finite3(motion_b->velocity) ||
        !is_finite3(motion_b->spin) || !(horizon >= 0.0 && horizon < INFINITY) ||
        !(tolerance > 0.0 && tolerance < INFINITY)) {
        return GJK_BAD_MOTION;
    }
    gjk_cache cache = {.count = 0.0};
    *impact = (gjk_impact){0};
    double time = 0.0;
    for (; impact->advances < GJK_MAX_ADVANCES; ++impact->advances) {
        gjk_pose pose_a, pose_b;
        gjk_motion_at(motion_a, time, &pose_a);
        gjk_motion_at(motion_b, time, &pose_b);
        gjk_status status = gjk_distance(a, &pose_a, b, &pose_b, &cache, work, &impact->result);
        if (status != GJK_OK) {
            return status;
        }
        impact->upper = time;
        impact->touches = impact->result.distance <= tolerance;
        if (impact->result.distance > 0.0) {
            impact->lower = time;
        }
        if (impact->touches) {
            return GJK_OK;
        }
        if (time >= horizon) {
            return GJK_OK;
        }
        double speed = approach(a, motion_a, b, motion_b, impact->result.normal);
        /* Stopping half a tolerance short of the touch still ends within it, and never begins beyond it. */
        double step = (impact->result.distance - 0.5 * tolerance) / speed;
        time = speed > 0.0 && time + step < horizon ? time + step : horizon;
    }
    return GJK_NOT_CONVERGED;
}
