/* A robot as data: its tree of bodies and joints, its convex links and the pairs of them to test, from the file
 * robot.bin that the exporter writes (fmus/native.py).
 *
 * The file, little-endian: 8 bytes "simloopC"; int32 ROBOT_FORMAT, counts[ROBOT_COUNTS] in the order of RobotCount;
 * then the doubles, the int32s and the bytes in the order of the fields below. */
#ifndef NATIVE_ROBOT_H
#define NATIVE_ROBOT_H

#include "gjk_scene.h"

#include <stddef.h>

enum { ROBOT_FORMAT = 1 };
typedef enum {
    BODIES,   /* the world is the first */
    JOINTS,   /* one degree each, in the order of the position */
    STANDING, /* frames that stand in the world, after those of the bodies */
    MEMBERS,  /* convex links */
    VERTICES, /* of all members */
    CLIMB,    /* length of all the members' tables for climbing */
    PAIRS,
    PORTS,
    TEXT, /* length of all the texts, final zeros included */
    ROBOT_COUNTS
} RobotCount;

typedef struct {
    int32_t count[ROBOT_COUNTS];
    void *file; /* what the rest points into */
    const double *body_pos, *body_quat;                /* 3 and 4 each, on the parent */
    const double *joint_axis, *joint_pos, *joint_zero; /* 3, 3 and 1 each; position at which the body is as above */
    const double *standing;                            /* 12 each: rotation by rows, translation */
    const double *member_pose;                         /* the same, on its frame */
    const double *member_radius;
    const double *vertices; /* 3 each */
    const double *start;    /* of the ports */
    const int32_t *body_parent, *body_joint, *body_joints; /* a parent comes first; first joint, number of joints */
    const int32_t *joint_slides;                           /* 1, or 0 for a hinge */
    const int32_t *member_frame, *member_vertex;           /* MEMBERS + 1: where its vertices begin */
    const int32_t *member_climb; /* MEMBERS + 1: where its table begins, first[vertices + 1] and the neighbours */
    const int32_t *climb;
    const int32_t *pair;      /* 2 each, members */
    const int32_t *pair_body; /* 2 each */
    const unsigned char *access;
    const char *text; /* the GUID, the names of the ports, of the two texts, and of the two links of each pair */
} Robot;

/* Where the bodies and joints are, in the world. */
typedef struct {
    gjk_pose *frames; /* BODIES + STANDING; those that stand are the caller's to fill */
    double *quat;     /* 4 a body */
    double *axis;     /* 3 a joint */
    double *anchor;
} Placed;

/* Reads and checks a file; NULL, or what is wrong with it. */
const char *robot_read(Robot *robot, const char *path);
void robot_free(Robot *robot);

/* Places the bodies at joint position q, m or rad. */
void robot_place(const Robot *robot, const double *q, Placed *placed);

/* How fast, m/s, at joint velocity v, the point that a body has at `point` in the world moves along `direction`. */
double robot_speed(const Robot *robot, const Placed *placed, int32_t body, const double point[3],
                   const double direction[3], const double *v);

#endif
