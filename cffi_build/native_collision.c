/* The collision detector as a unit in plain C, with no interpreter: the same ports and answers as fmus/collision.py.
 *
 * With fmi2_shell.c, native_robot.c, gjk.c and gjk_scene.c it makes a whole FMI 2.0 library for any robot: what it
 * knows of the robot stands in the unit's resources/robot.bin. */
#include "fmi2_unit.h"
#include "native_robot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As in models/clearance.py: the distance told when nothing is near, m, and the time when there will be no contact, s. */
static const double NOTHING_NEAR = 1e6;
static const double NEVER = 1e6;

/* The ports, n joints: q[n], v[n], and from 2 n on these. */
enum { DISTANCE, CONTACT, POINT_A, POINT_B = POINT_A + 3, NORMAL = POINT_B + 3, TIME_TO_CONTACT = NORMAL + 3, PAIR,
       OUTPUTS };

static const char STATE_MAGIC[8] = {'s', 'i', 'm', 'l', 'o', 'o', 'p', 'S'};

typedef struct {
    Robot robot;
    Placed placed;
    gjk_scene scene;
    gjk_member *members;
    gjk_body *bodies;
    int32_t *within;
    double *distances;
    double *state; /* the ports, then what each pair remembers: all there is to save */
    size_t state_length;
    void *rooms[24]; /* everything allocated */
    int room_count;
} Detector;

/* Zeroed room for n things; 32-byte aligned, as the vertices' lanes must be. */
static void *room(Detector *d, size_t n, size_t size)
{
    char *made = d->room_count < (int)(sizeof d->rooms / sizeof *d->rooms) ? calloc(n * size + 64, 1) : NULL;
    if (!made)
        return NULL;
    d->rooms[d->room_count++] = made;
    return made + (32 - (uintptr_t)made % 32);
}

static void release(Detector *d)
{
    for (int i = 0; i < d->room_count; i++)
        free(d->rooms[i]);
    robot_free(&d->robot);
    free(d);
}

static int allocate(Detector *d)
{
    const int32_t *n = d->robot.count;
    size_t frames = (size_t)n[BODIES] + (size_t)n[STANDING], members = (size_t)n[MEMBERS], pairs = (size_t)n[PAIRS];
    d->state_length = (size_t)n[PORTS] + GJK_CACHE_SIZE * pairs;
    return (d->placed.frames = room(d, frames, sizeof(gjk_pose))) &&
           (d->placed.quat = room(d, 4 * (size_t)n[BODIES], sizeof(double))) &&
           (d->placed.axis = room(d, 3 * (size_t)n[JOINTS], sizeof(double))) &&
           (d->placed.anchor = room(d, 3 * (size_t)n[JOINTS], sizeof(double))) &&
           (d->members = room(d, members, sizeof(gjk_member))) && (d->bodies = room(d, members, sizeof(gjk_body))) &&
           (d->within = room(d, pairs, sizeof(int32_t))) && (d->distances = room(d, pairs, sizeof(double))) &&
           (d->state = room(d, d->state_length, sizeof(double))) &&
           (d->scene.boxes = room(d, frames, sizeof(gjk_box))) &&
           (d->scene.groups = room(d, pairs, sizeof(gjk_group))) &&
           (d->scene.placed = room(d, members, sizeof(gjk_pose))) &&
           (d->scene.work = room(d, 1, sizeof(gjk_workspace)));
}

static gjk_pose pose_from(const double numbers[12])
{
    gjk_pose pose;
    memcpy(pose.rotation, numbers, sizeof pose.rotation);
    memcpy(pose.translation, numbers + 9, sizeof pose.translation);
    return pose;
}

/* The links: one room holds the lanes of all, one the starts of those that are climbed. */
static int make_members(Detector *d)
{
    const Robot *r = &d->robot;
    int32_t count = r->count[MEMBERS];
    size_t lanes_length = 0, climbed = 0;
    for (int32_t i = 0; i < count; i++) {
        lanes_length += (size_t)gjk_lanes_size(r->member_vertex[i + 1] - r->member_vertex[i]) + 4;
        climbed += r->member_climb[i + 1] > r->member_climb[i];
    }
    double *lanes = room(d, lanes_length, sizeof *lanes);
    int32_t *starts = room(d, climbed * GJK_STARTS, sizeof *starts);
    if (!lanes || !starts)
        return -1;
    for (int32_t i = 0; i < count; i++) {
        int32_t first = r->member_vertex[i], vertices = r->member_vertex[i + 1] - first;
        const int32_t *climb = r->climb + r->member_climb[i];
        if (gjk_body_init(d->bodies + i, r->vertices + 3 * first, vertices, r->member_radius[i], lanes) != GJK_OK)
            return -1;
        lanes += (gjk_lanes_size(vertices) + 3) / 4 * 4;
        if (r->member_climb[i + 1] > r->member_climb[i]) {
            gjk_body_climb(d->bodies + i, climb, climb + vertices + 1, starts);
            starts += GJK_STARTS;
        }
        d->members[i] = (gjk_member){d->bodies + i, pose_from(r->member_pose + 12 * i), r->member_frame[i]};
    }
    return 0;
}

static int make_scene(Detector *d)
{
    const Robot *r = &d->robot;
    d->scene.members = d->members;
    d->scene.pairs = (const gjk_pair *)r->pair;
    d->scene.member_count = r->count[MEMBERS];
    d->scene.pair_count = r->count[PAIRS];
    d->scene.frame_count = r->count[BODIES] + r->count[STANDING];
    d->scene.caches = (gjk_cache *)(d->state + r->count[PORTS]);
    for (int32_t i = 0; i < r->count[STANDING]; i++)
        d->placed.frames[r->count[BODIES] + i] = pose_from(r->standing + 12 * i);
    return gjk_scene_init(&d->scene) == GJK_OK ? 0 : -1;
}

static double *output(const Unit *u, int port) { return u->ports + 2 * ((Detector *)u->model)->robot.count[JOINTS] + port; }

static double time_to_contact(const Detector *d, const gjk_answer *a, const double *v)
{
    const int32_t *bodies = d->robot.pair_body + 2 * a->nearest;
    const gjk_result *at = &a->result;
    if (at->distance <= 0.0)
        return 0.0;
    double closing = robot_speed(&d->robot, &d->placed, bodies[0], at->point_a, at->normal, v) -
                     robot_speed(&d->robot, &d->placed, bodies[1], at->point_b, at->normal, v);
    return closing > 0.0 ? fmin(at->distance / closing, NEVER) : NEVER;
}

static fmi2Status find_nearest(Unit *u)
{
    Detector *d = u->model;
    if (d->scene.pair_count == 0) {
        *output(u, DISTANCE) = NOTHING_NEAR;
        *output(u, TIME_TO_CONTACT) = NEVER;
        return fmi2OK;
    }
    gjk_answer answer;
    robot_place(&d->robot, u->ports, &d->placed);
    gjk_status status = gjk_scene_update(&d->scene, d->placed.frames, 0.0, &answer, d->within, d->distances);
    if (status == GJK_NOT_CONVERGED)
        return unit_fail(u, "%s: signed distance only known to lie in [%.17g, %.17g] after %d iterations", u->name,
                         answer.result.lower, answer.result.upper, (int)answer.result.iterations);
    if (status != GJK_OK)
        return unit_fail(u, "%s: the bodies cannot be placed at this joint position", u->name);
    *output(u, DISTANCE) = answer.result.distance;
    *output(u, CONTACT) = answer.result.distance <= 0.0;
    *output(u, TIME_TO_CONTACT) = time_to_contact(d, &answer, u->ports + d->robot.count[JOINTS]);
    memcpy(output(u, POINT_A), answer.result.point_a, sizeof answer.result.point_a);
    memcpy(output(u, POINT_B), answer.result.point_b, sizeof answer.result.point_b);
    memcpy(output(u, NORMAL), answer.result.normal, sizeof answer.result.normal);
    *output(u, PAIR) = answer.nearest + 1;
    return fmi2OK;
}

static fmi2Status enter(Unit *u, double start_time)
{
    (void)u, (void)start_time;
    return fmi2OK;
}

static fmi2Status start(Unit *u) { return find_nearest(u); }

static fmi2Status terminate(Unit *u)
{
    (void)u;
    return fmi2OK;
}

static fmi2Status reset(Unit *u)
{
    Detector *d = u->model;
    memset(d->state, 0, d->state_length * sizeof *d->state);
    memcpy(u->ports, d->robot.start, u->count * sizeof *u->ports);
    return fmi2OK;
}

static fmi2Status step(Unit *u, double time, double h)
{
    (void)time;
    if (!u->started)
        return unit_fail(u, "%s: a step was asked for before the unit was initialised", u->name);
    if (!(h > 0.0))
        return unit_fail(u, "%s: the step size is %g; it must be greater than 0", u->name, h);
    return find_nearest(u);
}

/* The text that stands `number` places after the GUID in the robot's list. */
static const char *text(const Detector *d, size_t number)
{
    const char *at = d->robot.text;
    for (size_t i = 0; i <= number; i++)
        at += strlen(at) + 1;
    return at;
}

static fmi2Status get_texts(Unit *u, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    size_t pair = (size_t)*output(u, PAIR);
    for (size_t i = 0; i < n; i++) {
        size_t which = vr[i] - u->count;
        if (vr[i] < u->count || which > 1)
            return unit_fail(u, "%s: value reference %u is not a variable of type String", u->name, vr[i]);
        value[i] = pair == 0 ? "" : text(u->model, u->count + 2 + 2 * (pair - 1) + which);
    }
    return fmi2OK;
}

static fmi2Status set_texts(Unit *u, const fmi2ValueReference vr[], size_t n, const fmi2String value[])
{
    (void)vr, (void)value;
    return n == 0 ? fmi2OK : unit_fail(u, "%s: the strings of this unit are outputs and cannot be set", u->name);
}

static fmi2Status save(Unit *u, fmi2FMUstate *state)
{
    const Detector *d = u->model;
    size_t size = d->state_length * sizeof *d->state;
    if (!*state && !(*state = malloc(size)))
        return unit_fail(u, "%s: no memory", u->name);
    memcpy(*state, d->state, size);
    return fmi2OK;
}

static fmi2Status restore(Unit *u, fmi2FMUstate state)
{
    Detector *d = u->model;
    memcpy(d->state, state, d->state_length * sizeof *d->state);
    return fmi2OK;
}

static void forget(Unit *u, fmi2FMUstate state)
{
    (void)u;
    free(state);
}

/* Serialised: the magic, the GUID with its final zero, the numbers. */
static size_t head_length(const Detector *d) { return sizeof STATE_MAGIC + strlen(d->robot.text) + 1; }

static fmi2Status size_of(Unit *u, fmi2FMUstate state, size_t *size)
{
    (void)state;
    const Detector *d = u->model;
    *size = head_length(d) + d->state_length * sizeof *d->state;
    return fmi2OK;
}

static fmi2Status serialize(Unit *u, fmi2FMUstate state, fmi2Byte out[], size_t size)
{
    const Detector *d = u->model;
    size_t needed;
    size_of(u, state, &needed);
    if (size != needed)
        return unit_fail(u, "fmi2SerializeFMUstate was given a buffer of the wrong size");
    memcpy(out, STATE_MAGIC, sizeof STATE_MAGIC);
    memcpy(out + sizeof STATE_MAGIC, d->robot.text, head_length(d) - sizeof STATE_MAGIC);
    memcpy(out + head_length(d), state, size - head_length(d));
    return fmi2OK;
}

static int good_state(const Unit *u, const double *numbers)
{
    const Detector *d = u->model;
    for (size_t i = 0; i < d->state_length; i++)
        if (!isfinite(numbers[i]))
            return 0;
    double pair = numbers[2 * d->robot.count[JOINTS] + PAIR];
    return pair >= 0.0 && pair <= d->robot.count[PAIRS] && pair == floor(pair);
}

static fmi2Status deserialize(Unit *u, const fmi2Byte in[], size_t size, fmi2FMUstate *state)
{
    const Detector *d = u->model;
    size_t needed, head = head_length(d);
    size_of(u, NULL, &needed);
    double *numbers = size == needed ? malloc(size - head) : NULL;
    if (numbers)
        memcpy(numbers, in + head, size - head);
    if (!numbers || memcmp(in, STATE_MAGIC, sizeof STATE_MAGIC) != 0 ||
        memcmp(in + sizeof STATE_MAGIC, d->robot.text, head - sizeof STATE_MAGIC) != 0 || !good_state(u, numbers)) {
        free(numbers);
        return unit_fail(u, "the serialised state is not one that this unit wrote");
    }
    free(*state);
    *state = numbers;
    return fmi2OK;
}

static void name_of(Unit *u, fmi2ValueReference vr, char *out, size_t size)
{
    snprintf(out, size, "%s", vr < u->count + 2 ? text(u->model, vr) : "unknown variable");
}

static void close_detector(Unit *u) { release(u->model); }

static const Engine engine = {
    .enter = enter,
    .start = start,
    .terminate = terminate,
    .reset = reset,
    .step = step,
    .get_texts = get_texts,
    .set_texts = set_texts,
    .save = save,
    .restore = restore,
    .forget = forget,
    .size = size_of,
    .serialize = serialize,
    .deserialize = deserialize,
    .name_of = name_of,
    .close = close_detector,
};

int unit_open(Unit *u, const char *guid, const char *resources)
{
    char path[4096];
    Detector *d = calloc(1, sizeof *d);
    if (!d || unit_resource(resources, "robot.bin", path, sizeof path) != 0) {
        unit_fail(u, "%s: the host gave %s%s as the place of the unit's resources; a file URI is needed", u->name,
                  *resources ? "" : "nothing", resources);
        free(d);
        return -1;
    }
    const char *wrong = robot_read(&d->robot, path);
    if (wrong) {
        unit_fail(u, "%s: %s %s", u->name, path, wrong);
        free(d);
        return -1;
    }
    const Robot *r = &d->robot;
    if (strcmp(guid, r->text) != 0) {
        unit_fail(u, "%s: the host asked for GUID %s, but this unit is %s", u->name, guid, r->text);
    } else if (r->count[PORTS] != 2 * r->count[JOINTS] + OUTPUTS || !allocate(d) || make_members(d) != 0 ||
               make_scene(d) != 0) {
        unit_fail(u, "%s: %s is not a robot that can be placed", u->name, path);
    } else {
        u->engine = &engine;
        u->model = d;
        u->ports = d->state;
        u->access = r->access;
        u->count = (size_t)r->count[PORTS];
        reset(u);
        return 0;
    }
    release(d);
    return -1;
}
