/* A unit behind the FMI: its numbers in one array by value reference, and the engine that runs its model.
 *
 * fmi2_shell.c has the FMI functions: it moves numbers on the array, checks types and when a variable may be set, and
 * calls the engine for the rest. Engines: a Python slave in this process (fmi2_python.c), one in a process of its own
 * (fmi2_process.c), or plain C (native_collision.c).
 *
 * An engine's function tells what went wrong by unit_say or unit_fail, and returns the status; the unit stays valid.
 */
#ifndef FMI2_UNIT_H
#define FMI2_UNIT_H

#include "fmi2.h"

/* One byte a value reference in `access`: low bits the type, high bits when it may be set, and whether to NaN and
   infinity too. */
enum { TYPE_REAL = 1, TYPE_INTEGER = 2, TYPE_BOOLEAN = 3, TYPE_MASK = 0x0f };
enum { SET_NEVER = 0x00, SET_BEFORE_START = 0x10, SET_ALWAYS = 0x20, SET_MASK = 0x30, ANY_NUMBER = 0x40 };

typedef struct Unit Unit;

typedef struct {
    fmi2Status (*enter)(Unit *, double start_time);
    fmi2Status (*start)(Unit *);
    fmi2Status (*terminate)(Unit *);
    fmi2Status (*reset)(Unit *);
    fmi2Status (*step)(Unit *, double time, double h);
    /* The texts stay valid until the next call. */
    fmi2Status (*get_texts)(Unit *, const fmi2ValueReference vr[], size_t n, fmi2String value[]);
    fmi2Status (*set_texts)(Unit *, const fmi2ValueReference vr[], size_t n, const fmi2String value[]);
    /* A state that is not NULL is overwritten in place, as the standard allows. */
    fmi2Status (*save)(Unit *, fmi2FMUstate *state);
    fmi2Status (*restore)(Unit *, fmi2FMUstate state);
    void (*forget)(Unit *, fmi2FMUstate state);
    fmi2Status (*size)(Unit *, fmi2FMUstate state, size_t *size);
    fmi2Status (*serialize)(Unit *, fmi2FMUstate state, fmi2Byte out[], size_t size);
    fmi2Status (*deserialize)(Unit *, const fmi2Byte in[], size_t size, fmi2FMUstate *state);
    void (*name_of)(Unit *, fmi2ValueReference vr, char *out, size_t size);
    void (*close)(Unit *);
} Engine;

struct Unit {
    const Engine *engine;
    void *model; /* the engine's own */
    double *ports;
    const unsigned char *access;
    size_t count; /* of ports and of access */
    const fmi2CallbackFunctions *host;
    char *name;
    double start_time;
    int started;
};

/* Fills engine, model, ports, access and count; 0, or -1 with the reason told and nothing left behind. Each library
 * has one: fmi2_choose.c or native_collision.c. */
int unit_open(Unit *u, const char *guid, const char *resources);

/* Sends a message to the host's logger. */
void unit_say(const Unit *u, fmi2Status status, const char *message);

/* The same for an error, as printf; returns fmi2Error. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
fmi2Status unit_fail(const Unit *u, const char *format, ...);

/* Writes the path of a file in the resources folder (a file URI or a path); -1 when there is no such path or it is too
 * long. */
int unit_resource(const char *resources, const char *file, char *out, size_t size);

#endif
