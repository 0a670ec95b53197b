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

/* Two bodies under way. */
typedef struct pair {
    const gjk_body *a, *b;
    const gjk_motion *motion_a, *motion_b;
    gjk_pose pose_a, pose_b; /* at the time last looked at */
} pair;

static gjk_status look(pair *p, double time, gjk_cache *cache, gjk_workspace *work, gjk_result *result)
{
    gjk_motion_at(p->motion_a, time, &p->pose_a);
    gjk_motion_at(p->motion_b, time, &p->pose_b);
    return gjk_distance(p->a, &p->pose_a, p->b, &p->pose_b, cache, work, result);
}

/* Bounds n.x from above for all points x of a body's core, after it has moved on for some time: each vertex has gone
 * straight on, less than spin^2 time^2 / 2 times its radius aside. */
static double highest(const gjk_body *body, const gjk_motion *motion, const gjk_pose *pose, const double n[3],
                      double time)
{
    double d[3], d_body[3], most = -INFINITY;
    cross(d, n, motion->spin); /* n.(spin x r) = (n x spin).r */
    for (int i = 0; i < 3; ++i) {
        d[i] = n[i] + time * d[i];
    }
    rotate_back(d_body, pose->rotation, d);
    for (int32_t k = 0; k < body->count; ++k) {
        most = larger(most, dot(d_body, body->vertices + 3 * (size_t)k));
    }
    double aside = 0.5 * time * time * dot(motion->spin, motion->spin) * body->reach;
    return dot(n, pose->translation) + time * dot(n, motion->velocity) + most + aside;
}

/* Bounds from below how far the planes along n part the bodies, after they have moved on for some time. It is concave
 * in time: above a level at both ends of an interval it is above it all the way. */
static double parting(const pair *p, const double n[3], double time)
{
    double back[3];
    scale(back, -1.0, n);
    return -highest(p->a, p->motion_a, &p->pose_a, n, time) - highest(p->b, p->motion_b, &p->pose_b, back, time) -
           p->a->radius - p->b->radius;
}

/* The speed at which the witness points approach. */
static double closing_speed(const pair *p, const gjk_result *r)
{
    double arm[3], turn_a[3], turn_b[3];
    sub(arm, r->point_a, p->pose_a.translation);
    cross(turn_a, p->motion_a->spin, arm);
    sub(arm, r->point_b, p->pose_b.translation);
    cross(turn_b, p->motion_b->spin, arm);
    return dot(r->normal, p->motion_a->velocity) + dot(r->normal, turn_a) - dot(r->normal, p->motion_b->velocity) -
           dot(r->normal, turn_b);
}

/* A time through which the planes along n part the bodies by more than rest: at least 0.95 of the longest, or all of
 * what is asked for. first is a guess. */
static double safe_time(const pair *p, const double n[3], double rest, double first, double longest)
{
    if (parting(p, n, longest) > rest) {
        return longest;
    }
    double safe = 0.0, unsafe = longest;
    for (int tries = 0; tries < 60 && !(safe > 0.95 * unsafe); ++tries) {
        double next = safe > 0.0 ? (2.0 * safe < unsafe ? 2.0 * safe : 0.5 * (safe + unsafe))
                                 : first < unsafe ? first : 0.25 * unsafe;
        if (parting(p, n, next) > rest) {
            safe = next;
        } else {
            unsafe = next;
        }
    }
    return safe;
}

/* Looks for a touch after time, where the bodies are as in now: at first twice as far ahead as the closing speed tells,
 * after each miss twice as far again. */
static gjk_status look_ahead(pair *p, double time, const gjk_result *now, double horizon, double *reach,
                             gjk_workspace *work, gjk_impact *impact)
{
    double speed = closing_speed(p, now);
    if (!(speed > 0.0)) {
        return GJK_OK;
    }
    double ahead = time + *reach * now->distance / speed;
    if (impact->contact == GJK_TOUCH && !(ahead < impact->upper)) {
        *reach = 2.0;
        return GJK_OK;
    }
    pair then = *p;
    gjk_result result;
    ahead = ahead < horizon ? ahead : horizon;
    gjk_status status = look(&then, ahead, NULL, work, &result);
    if (status == GJK_OK && result.upper <= 0.0) {
        impact->contact = GJK_TOUCH;
        impact->upper = ahead;
        impact->result = result;
    } else {
        *reach *= 2.0;
    }
    return status;
}

static int is_motion(const gjk_motion *motion)
{
    return is_finite3(motion->velocity) && is_finite3(motion->spin);
}

static int is_positive(double x)
{
    return x > 0.0 && x < INFINITY;
}

static void settle(gjk_impact *impact, gjk_contact contact, double time, const gjk_result *result)
{
    impact->contact = contact;
    impact->lower = impact->upper = time;
    impact->result = *result;
}

gjk_status gjk_time_of_impact(const gjk_body *a, const gjk_motion *motion_a, const gjk_body *b,
                              const gjk_motion *motion_b, double horizon, double tolerance, double time_tolerance,
                              gjk_workspace *work, gjk_impact *impact)
{
    if (!is_motion(motion_a) || !is_motion(motion_b) || !(horizon >= 0.0 && horizon < INFINITY) ||
        !is_positive(tolerance) || !is_positive(time_tolerance)) {
        return GJK_BAD_MOTION;
    }
    pair p = {.a = a, .b = b, .motion_a = motion_a, .motion_b = motion_b};
    gjk_cache cache = {.count = 0.0};
    gjk_result now, nearest = {.distance = INFINITY};
    double time = 0.0, time_of_nearest = 0.0, reach = 2.0;
    int32_t close = 0;
    *impact = (gjk_impact){.contact = GJK_CLEAR};
    for (; impact->advances < GJK_MAX_ADVANCES; ++impact->advances) {
        gjk_status status = look(&p, time, &cache, work, &now);
        if (status != GJK_OK) {
            return status;
        }
        impact->lower = time;
        if (now.upper <= 0.0) {
            settle(impact, GJK_TOUCH, time, &now);
            return GJK_OK;
        }
        int is_close = now.distance <= tolerance;
        if (is_close) {
            ++close;
            if (now.distance < nearest.distance) {
                nearest = now;
                time_of_nearest = time;
            }
            status = look_ahead(&p, time, &now, horizon, &reach, work, impact);
            if (status != GJK_OK) {
                return status;
            }
        }
        if (impact->contact == GJK_TOUCH && impact->upper - time <= time_tolerance) {
            return GJK_OK;
        }
        int touches = impact->contact == GJK_TOUCH;
        double end = touches ? impact->upper : horizon, speed = closing_speed(&p, &now);
        /* Stops short of the touch, so that there is always some distance left to measure the next step by. */
        double rest = is_close ? 0.125 * now.distance : 0.5 * tolerance;
        double step = now.lower > rest && time < end
                          ? safe_time(&p, now.normal, rest, speed > 0.0 ? now.distance / speed : end - time, end - time)
                          : 0.0;
        double next = step < end - time ? time + step : end;
        int stuck = !(next > time) || close >= GJK_MAX_CLOSE_ADVANCES;
        if (close > 0 && !touches && (stuck || !is_close)) {
            settle(impact, GJK_GRAZE, time_of_nearest, &nearest);
            return GJK_OK;
        }
        if (time >= end) {
            settle(impact, GJK_CLEAR, time, &now);
            return GJK_OK;
        }
        if (stuck) {
            break;
        }
        time = next;
    }
    return GJK_NOT_CONVERGED;
}
