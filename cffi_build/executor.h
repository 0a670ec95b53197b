/* Runs macro steps of a flat schedule over units of FMI 2.0 and 3.0, and records a row after each.
 *
 * A schedule is a list of calls, each with everything that it needs. The caller makes the lists and owns all memory that
 * they point to, which must stay where it is; nothing is allocated here and nothing is global. A unit that is Python
 * inside takes the interpreter's lock by itself, so the caller should not hold it.
 *
 * Numbers travel as doubles. What is read must be finite; what is written to a whole number must be one that it takes. */
#ifndef EXECUTOR_H
#define EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum executor_status {
    EXECUTOR_DONE = 0,
    EXECUTOR_BAD_STATUS, /* a unit's answer was neither ok nor a warning: `unit_status` */
    EXECUTOR_SHORT_STEP, /* FMI 3.0: a step asks to end the run, or may have ended early */
    EXECUTOR_NOT_FINITE, /* a value that was read is NaN or infinite */
    EXECUTOR_NOT_TAKEN   /* a value is not a whole number within the range of what it is written to */
} executor_status;

typedef enum executor_kind {
    EXECUTOR_SCALE,
    EXECUTOR_SAVE,
    EXECUTOR_RESTORE,
    EXECUTOR_STEP_2,
    EXECUTOR_STEP_3,
    EXECUTOR_GET_REAL_2,
    EXECUTOR_SET_REAL_2,
    EXECUTOR_GET_WHOLE_2, /* Integer, Enumeration, Boolean */
    EXECUTOR_SET_WHOLE_2,
    EXECUTOR_GET_REAL_3, /* Float64 */
    EXECUTOR_SET_REAL_3
} executor_kind;

/* The unit's own function, as the kind says. */
typedef union executor_function {
    void *address;
    int (*save)(void *unit, void **state);
    int (*restore)(void *unit, void *state);
    int (*step_2)(void *unit, double time, double h, int no_rollback);
    int (*step_3)(void *unit, double time, double h, bool no_rollback, bool *event, bool *end, bool *early,
                  double *until);
    int (*get_real_2)(void *unit, const uint32_t *references, size_t count, double *values);
    int (*set_real_2)(void *unit, const uint32_t *references, size_t count, const double *values);
    int (*get_whole_2)(void *unit, const uint32_t *references, size_t count, int32_t *values);
    int (*set_whole_2)(void *unit, const uint32_t *references, size_t count, const int32_t *values);
    int (*get_real_3)(void *unit, const uint32_t *references, size_t count, double *values, size_t values_count);
    int (*set_real_3)(void *unit, const uint32_t *references, size_t count, const double *values, size_t values_count);
} executor_function;

/* What a unit's step answers beside its status (FMI 3.0). */
typedef struct executor_answer {
    bool *event, *end, *early;
    double *until;
} executor_answer;

/* A unit's saved state and its time then. */
typedef struct executor_slot {
    void **state;
    double time;
} executor_slot;

typedef struct executor_call {
    executor_kind kind;
    void *unit;
    executor_function function;
    double *time;               /* the unit's own, s: set by a step and by a restore */
    size_t count;               /* of values */
    const uint32_t *references; /* of a get or a set */
    size_t references_count;    /* as many as values, or fewer where an array of FMI 3.0 has one for all its elements */
    double *values;             /* count: what is read, written or scaled */
    int32_t *whole;             /* count: scratch of a get or a set of whole numbers */
    int32_t low, high;          /* what a set of whole numbers takes */
    const double *factors, *offsets; /* count each: values = factors * values + offsets, rounded twice */
    int32_t part, parts;             /* the step is part `part`, from 0, of `parts` equal ones of the macro step */
    executor_slot *slot;             /* of a save or a restore */
    executor_answer answer;          /* of a step of FMI 3.0 */
} executor_call;

typedef struct executor {
    const executor_call *calls; /* those of a macro step, then those that read a row */
    size_t schedule_count;      /* of a macro step */
    size_t count;               /* of both; as many as schedule_count where nothing is recorded */
    double h;                   /* of a macro step, s */
    const double *times;        /* macro step i begins at times[i] and its row is of times[i + 1] */
    double *row;                /* row_length, the first being the time; the calls fill in the others */
    size_t row_length;          /* 0 where nothing is recorded */
    double *rows;               /* row i is that after macro step i */

    /* Where it stands. */
    size_t done;     /* macro steps made, each with its row */
    size_t next;     /* the call that comes next: after anything but EXECUTOR_DONE, the one that ended it */
    int unit_status; /* what that one's unit answered */
} executor;

/* Goes on from `done` and `next` until `steps` macro steps are done, or a call ends it. To go on after such a call
 * without making it again, count `next` up. */
executor_status executor_run(executor *self, size_t steps);

#endif
