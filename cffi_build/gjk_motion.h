/* When two moving bodies first touch.
 *
 * A body moves from its pose with a constant velocity of its frame's origin and a constant angular velocity, both in
 * world axes. */
#ifndef GJK_MOTION_H
#define GJK_MOTION_H

#include "gjk.h"

/* Advances before a search for the time of impact gives up. */
#define GJK_MAX_ADVANCES 10000

typedef struct gjk_motion {
    gjk_pose pose; /* at time 0 */
    double velocity[3];
    double spin[3]; /* angular velocity: axis times rate */
} gjk_motion;

typedef struct gjk_impact {
    int32_t touches;     /* whether there is a touch within the horizon */
    double lower, upper; /* the bodies are apart up to lower; if they touch, they are at upper within the tolerance */
    gjk_result result;   /* at upper */
    int32_t advances;
} gjk_impact;

/* Where a motion is at a time. */
void gjk_motion_at(const gjk_motion *motion, double time, gjk_pose *pose);

/* First time from 0 to horizon at which the signed distance is not above tolerance, by conservative advancement: no step
 * is longer than the distance divided by the fastest that any two points can approach along the normal, so no touch is
 * stepped over. Bodies that touch at the start touch at time 0. GJK_OK; GJK_BAD_POSE for a pose that is none; GJK_BAD_MOTION for a velocity, a horizon or a
 * tolerance that is not finite, a negative horizon, or a tolerance that is not positive; GJK_NOT_CONVERGED with lower a
 * time up to which the bodies are certainly apart. */
gjk_status gjk_time_of_impact(const gjk_body *a, const gjk_motion *motion_a, const gjk_body *b,
                              const gjk_motion *motion_b, double horizon, double tolerance, gjk_workspace *work,
                              gjk_impact *impact);

#endif
