#include "native_robot.h"
#include "gjk_vector.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char MAGIC[8] = {'s', 'i', 'm', 'l', 'o', 'o', 'p', 'C'};
/* More of anything is not a robot. */
enum { MOST = 1 << 24 };

/* Takes `size` bytes of the file; NULL when there are not so many left. */
static const void *take(const char **at, size_t *left, size_t size)
{
    const void *part = *at;
    if (size > *left)
        return NULL;
    *at += size;
    *left -= size;
    return part;
}

static int lay_out(Robot *r, const char *at, size_t left)
{
    const int32_t *n = r->count;
    size_t bodies = (size_t)n[BODIES], joints = (size_t)n[JOINTS], members = (size_t)n[MEMBERS];
    const struct {
        const double **field;
        size_t length;
    } doubles[] = {
        {&r->body_pos, 3 * bodies},        {&r->body_quat, 4 * bodies},
        {&r->joint_axis, 3 * joints},      {&r->joint_pos, 3 * joints},
        {&r->joint_zero, joints},          {&r->standing, 12 * (size_t)n[STANDING]},
        {&r->member_pose, 12 * members},   {&r->member_radius, members},
        {&r->vertices, 3 * (size_t)n[VERTICES]}, {&r->start, (size_t)n[PORTS]},
    };
    const struct {
        const int32_t **field;
        size_t length;
    } wholes[] = {
        {&r->body_parent, bodies},        {&r->body_joint, bodies},
        {&r->body_joints, bodies},        {&r->joint_slides, joints},
        {&r->member_frame, members},      {&r->member_vertex, members + 1},
        {&r->member_climb, members + 1},  {&r->climb, (size_t)n[CLIMB]},
        {&r->pair, 2 * (size_t)n[PAIRS]}, {&r->pair_body, 2 * (size_t)n[PAIRS]},
    };
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++)
        if (!(*doubles[i].field = take(&at, &left, doubles[i].length * sizeof(double))))
            return -1;
    for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
        if (!(*wholes[i].field = take(&at, &left, wholes[i].length * sizeof(int32_t))))
            return -1;
    r->access = take(&at, &left, (size_t)n[PORTS]);
    r->text = take(&at, &left, (size_t)n[TEXT]);
    return r->access && r->text && left == 0 ? 0 : -1;
}

static int within(int32_t index, int32_t from, int32_t below)
{
    return index >= from && index < below;
}

static int good_tree(const Robot *r)
{
    int32_t next = 0;
    for (int32_t i = 0; i < r->count[BODIES]; i++) {
        if (i > 0 && !within(r->body_parent[i], 0, i))
            return 0;
        if (r->body_joints[i] < 0 || r->body_joints[i] > r->count[JOINTS] - next ||
            (r->body_joints[i] > 0 && r->body_joint[i] != next))
            return 0;
        next += r->body_joints[i];
    }
    return next == r->count[JOINTS];
}

/* A table for climbing: ascending places, and neighbours that are vertices. */
static int good_climb(const int32_t *table, int32_t length, int32_t vertices)
{
    if (length == 0)
        return 1;
    int32_t neighbours = length - vertices - 1;
    if (neighbours < 0 || table[0] != 0 || table[vertices] != neighbours)
        return 0;
    for (int32_t i = 0; i < vertices; i++)
        if (table[i + 1] < table[i])
            return 0;
    for (int32_t i = 0; i < neighbours; i++)
        if (!within(table[vertices + 1 + i], 0, vertices))
            return 0;
    return 1;
}

static int good_members(const Robot *r)
{
    const int32_t *n = r->count;
    if (r->member_vertex[0] != 0 || r->member_vertex[n[MEMBERS]] != n[VERTICES] || r->member_climb[0] != 0 ||
        r->member_climb[n[MEMBERS]] != n[CLIMB])
        return 0;
    for (int32_t i = 0; i < n[MEMBERS]; i++) {
        if (!within(r->member_vertex[i + 1], r->member_vertex[i] + 1, n[VERTICES] + 1) ||
            !within(r->member_climb[i + 1], r->member_climb[i], n[CLIMB] + 1))
            return 0;
        int32_t vertices = r->member_vertex[i + 1] - r->member_vertex[i];
        int32_t length = r->member_climb[i + 1] - r->member_climb[i];
        if (!good_climb(r->climb + r->member_climb[i], length, vertices))
            return 0;
    }
    for (int32_t i = 0; i < 2 * n[PAIRS]; i++)
        if (!within(r->pair[i], 0, n[MEMBERS]) || !within(r->pair_body[i], 0, n[BODIES]))
            return 0;
    return 1;
}

/* As many texts as there must be, the last one closed. */
static int good_text(const Robot *r)
{
    int32_t found = 0;
    for (int32_t i = 0; i < r->count[TEXT]; i++)
        found += r->text[i] == '\0';
    return found == 1 + r->count[PORTS] + 2 + 2 * r->count[PAIRS] && r->text[r->count[TEXT] - 1] == '\0';
}

static const char *parse(Robot *r, size_t size)
{
    const char *at = r->file;
    int32_t format;
    size_t head = sizeof MAGIC + sizeof format + sizeof r->count;
    if (size < head || memcmp(at, MAGIC, sizeof MAGIC) != 0)
        return "is not a robot of simloop's";
    memcpy(&format, at + sizeof MAGIC, sizeof format);
    if (format != ROBOT_FORMAT)
        return "is of another format, or of another byte order";
    memcpy(r->count, at + sizeof MAGIC + sizeof format, sizeof r->count);
    for (int i = 0; i < ROBOT_COUNTS; i++)
        if (!within(r->count[i], 0, MOST))
            return "has counts that cannot be";
    if (r->count[BODIES] < 1 || lay_out(r, at + head, size - head) != 0)
        return "is not as long as it says";
    if (!good_tree(r) || !good_members(r) || !good_text(r))
        return "contradicts itself";
    return NULL;
}

const char *robot_read(Robot *robot, const char *path)
{
    *robot = (Robot){.file = NULL};
    FILE *file = fopen(path, "rb");
    if (!file)
        return "cannot be opened";
    const char *wrong = "cannot be read";
    long size = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
    if (size > 0 && fseek(file, 0, SEEK_SET) == 0 && (robot->file = malloc((size_t)size)) != NULL &&
        fread(robot->file, 1, (size_t)size, file) == (size_t)size)
        wrong = parse(robot, (size_t)size);
    fclose(file);
    if (wrong)
        robot_free(robot);
    return wrong;
}

void robot_free(Robot *robot)
{
    free(robot->file);
    robot->file = NULL;
}

static void multiply(double out[4], const double a[4], const double b[4])
{
    double w = a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3];
    double x = a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2];
    double y = a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1];
    double z = a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0];
    out[0] = w, out[1] = x, out[2] = y, out[3] = z;
}

static void turn(double out[3], const double vector[3], const double quat[4])
{
    const double w = quat[0], *u = quat + 1;
    double side[3], twice[3];
    cross(side, u, vector);
    for (int i = 0; i < 3; i++)
        side[i] += w * vector[i];
    cross(twice, u, side);
    for (int i = 0; i < 3; i++)
        out[i] = vector[i] + 2.0 * twice[i];
}

static void to_matrix(double m[9], const double q[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    m[0] = w * w + x * x - y * y - z * z;
    m[4] = w * w - x * x + y * y - z * z;
    m[8] = w * w - x * x - y * y + z * z;
    m[1] = 2.0 * (x * y - w * z);
    m[2] = 2.0 * (x * z + w * y);
    m[3] = 2.0 * (x * y + w * z);
    m[5] = 2.0 * (y * z - w * x);
    m[6] = 2.0 * (x * z - w * y);
    m[7] = 2.0 * (y * z + w * x);
}

/* Moves a body that is at pos and quat by its joint j. */
static void move(const Robot *r, Placed *placed, int32_t j, double travel, double pos[3], double quat[4])
{
    double *axis = placed->axis + 3 * j, *anchor = placed->anchor + 3 * j, arm[3];
    turn(axis, r->joint_axis + 3 * j, quat);
    turn(arm, r->joint_pos + 3 * j, quat);
    for (int i = 0; i < 3; i++)
        anchor[i] = arm[i] + pos[i];
    if (r->joint_slides[j]) {
        for (int i = 0; i < 3; i++)
            pos[i] += axis[i] * travel;
        return;
    }
    double s = sin(0.5 * travel);
    const double *a = r->joint_axis + 3 * j, by[4] = {cos(0.5 * travel), a[0] * s, a[1] * s, a[2] * s};
    multiply(quat, quat, by);
    turn(arm, r->joint_pos + 3 * j, quat);
    for (int i = 0; i < 3; i++)
        pos[i] = anchor[i] - arm[i];
}

void robot_place(const Robot *r, const double *q, Placed *placed)
{
    placed->frames[0] = (gjk_pose){{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 0, 0}};
    memcpy(placed->quat, (double[]){1, 0, 0, 0}, 4 * sizeof(double));
    for (int32_t b = 1; b < r->count[BODIES]; b++) {
        const gjk_pose *parent = placed->frames + r->body_parent[b];
        double *pos = placed->frames[b].translation, *quat = placed->quat + 4 * b;
        rotate(pos, parent->rotation, r->body_pos + 3 * b);
        for (int i = 0; i < 3; i++)
            pos[i] += parent->translation[i];
        multiply(quat, placed->quat + 4 * r->body_parent[b], r->body_quat + 4 * b);
        for (int32_t j = r->body_joint[b]; j < r->body_joint[b] + r->body_joints[b]; j++)
            move(r, placed, j, q[j] - r->joint_zero[j], pos, quat);
        double length = sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]);
        for (int i = 0; i < 4; i++)
            quat[i] /= length;
        to_matrix(placed->frames[b].rotation, quat);
    }
}

double robot_speed(const Robot *r, const Placed *placed, int32_t body, const double point[3],
                   const double direction[3], const double *v)
{
    double speed = 0.0;
    for (int32_t b = body; b > 0; b = r->body_parent[b]) {
        for (int32_t j = r->body_joint[b]; j < r->body_joint[b] + r->body_joints[b]; j++) {
            const double *axis = placed->axis + 3 * j, *anchor = placed->anchor + 3 * j;
            double arm[3] = {point[0] - anchor[0], point[1] - anchor[1], point[2] - anchor[2]}, swing[3];
            cross(swing, axis, arm);
            speed += v[j] * dot(direction, r->joint_slides[j] ? axis : swing);
        }
    }
    return speed;
}
