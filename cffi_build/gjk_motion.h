/* When two moving bodies first touch.
 *
 * A body moves from its pose with a constant velocity of its frame's origin and a constant angular velocity, both in
 * world axes. */
#ifndef GJK_MOTION_H
#define GJK_MOTION_H

#include "gjk.h"

/* Advances before a search for the time of impact gives up, and those of them spent within the tolerance. */
#define GJK_MAX_ADVANCES 10000
#define GJK_MAX_CLOSE_ADVANCES 200

typedef struct gjk_motion {
    gjk_pose pose; /* at time 0 */
    double velocity[3];
    double spin[3]; /* angular velocity: axis times rate */
} gjk_motion;

typedef enum gjk_contact {
    GJK_CLEAR, /* apart up to the horizon */
    GJK_GRAZE, /* within the tolerance, and no overlap found */
    GJK_TOUCH  /* touching or overlapping */
} gjk_contact;

/* The bodies are proven apart at every time before lower. At upper they
 *     GJK_TOUCH: are proven to touch or overlap, so the first touch lies between lower and upper;
 *     GJK_GRAZE: are within the tolerance, the nearest that was seen, and lower = upper;
 *     GJK_CLEAR: are apart, and lower = upper = horizon. */
typedef struct gjk_impact {
    gjk_contact contact;
    double lower, upper;
    gjk_result result; /* at upper */
    int32_t advances;
} gjk_impact;

/* Where a motion is at a time. */
void gjk_motion_at(const gjk_motion *motion, double time, gjk_pose *pose);

/* First touch from time 0 to horizon, by conservative advancement: each step is as long as the planes that part the
 * bodies can be proven to part them all the way, so no touch is stepped over. Ends as soon as the bodies touch with
 * upper - lower <= time_tolerance, leave the tolerance (a distance) without having touched, or have spent
 * GJK_MAX_CLOSE_ADVANCES within it. What follows a graze is not told.
 *
 * GJK_OK; GJK_BAD_POSE for a pose that is none; GJK_BAD_MOTION for a velocity, a horizon or a tolerance that is not
 * finite, a negative horizon, or a tolerance that is not positive; GJK_NOT_CONVERGED with lower as above and, if contact
 * is GJK_TOUCH, upper too. */
gjk_status gjk_time_of_impact(const gjk_body *a, const gjk_motion *motion_a, const gjk_body *b,
                              const gjk_motion *motion_b, double horizon, double tolerance, double time_tolerance,
                              gjk_workspace *work, gjk_impact *impact);

#endif
