/* A mass on a spring, FMI 2.0: m x'' = F - k x, solved exactly for a force that is held over a step.

   Compiled as it is, all it says of itself is true. A macro gives it one fault, which the block below names. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fmi2Functions.h"

/* NO_STATE        has no functions for its state
   FORGETS         restores the position and forgets the velocity
   DRIFTS          restores the position but for its last digits
   CRASHES_SAVING  segmentation fault in fmi2GetFMUstate
   CRASHES_WRITING segmentation fault in fmi2SerializeFMUstate
   FORGETS_WRITTEN the velocity is not in the serialised state
   CRASHES_LOADING segmentation fault while the library is loaded
   CRASHES_ENDING  segmentation fault in fmi2FreeInstance
   HANGS           a step never ends
   DISCARDS        makes 0.01 s of a longer step
   ENDS            asks to end the simulation from 0.05 s on
   GOES_NAN        x is NaN from 0.05 s on
   FAILS           fmi2Error from 0.05 s on
   DIES            fmi2Fatal from 0.05 s on; a call after that ends the process
   NO_DO_STEP      has no fmi2DoStep */

enum { F, K, M, X, V, COUNT };

typedef struct {
    double value[COUNT];
    double time, reached;
    int ended, dead;
    const fmi2CallbackFunctions *callbacks;
    char *name;
} Spring;

#define LATE (0.05 - 1e-9)

static void crash(void) { raise(SIGSEGV); }

#ifdef CRASHES_LOADING
__attribute__((constructor)) static void crash_at_once(void) { crash(); }
#endif

static Spring *alive(fmi2Component c) {
    Spring *s = c;
    if (s->dead) abort();
    return s;
}

static fmi2Status say(Spring *s, fmi2Status status, const char *text) {
    s->callbacks->logger(s->callbacks->componentEnvironment, s->name, status, "error", "%s", text);
    return status;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    (void)type, (void)resources, (void)visible, (void)logging;
    Spring start = {.value = {[K] = 100.0, [M] = 1.0, [X] = 0.1}, .callbacks = callbacks};
    if (strcmp(guid, "spring") != 0) {
        callbacks->logger(callbacks->componentEnvironment, name, fmi2Error, "error", "the GUID %s is not spring", guid);
        return NULL;
    }
    Spring *s = malloc(sizeof *s);
    *s = start;
    s->name = strdup(name);
    return s;
}

void fmi2FreeInstance(fmi2Component c) {
    Spring *s = alive(c);
#ifdef CRASHES_ENDING
    crash();
#endif
    free(s->name);
    free(s);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean a, fmi2Real b, fmi2Real start, fmi2Boolean d, fmi2Real e) {
    (void)a, (void)b, (void)d, (void)e;
    alive(c)->time = start;
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { return alive(c), fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { return alive(c), fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { return alive(c), fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) { return alive(c), fmi2OK; }

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    Spring *s = alive(c);
    for (size_t i = 0; i < n; i++) {
        if (vr[i] >= COUNT) return fmi2Error;
        value[i] = s->value[vr[i]];
    }
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    Spring *s = alive(c);
    for (size_t i = 0; i < n; i++) {
        if (vr[i] > M) return fmi2Error;
        s->value[vr[i]] = value[i];
    }
    return fmi2OK;
}

#ifndef NO_DO_STEP
fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real h, fmi2Boolean no_going_back) {
    (void)no_going_back;
    Spring *s = alive(c);
    fmi2Status status = fmi2OK;
#ifdef HANGS
    for (;;) sleep(1);
#endif
#ifdef DISCARDS
    if (h > 0.01 + 1e-12) {
        h = 0.01;
        status = fmi2Discard;
    }
#endif
#ifdef ENDS
    if (time >= LATE) {
        s->ended = 1;
        return say(s, fmi2Discard, "the spring is worn out");
    }
#endif
#ifdef FAILS
    if (time >= LATE) return say(s, fmi2Error, "the spring broke");
#endif
#ifdef DIES
    if (time >= LATE) {
        s->dead = 1;
        return fmi2Fatal;
    }
#endif
    double *value = s->value;
    double w = sqrt(value[K] / value[M]), rest = value[F] / value[K], away = value[X] - rest, v = value[V];
    value[X] = rest + away * cos(w * h) + v / w * sin(w * h);
    value[V] = v * cos(w * h) - away * w * sin(w * h);
    s->time = s->reached = time + h;
#ifdef GOES_NAN
    if (s->time >= LATE) value[X] = NAN;
#endif
    return status;
}
#endif

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value) {
    if (kind != fmi2LastSuccessfulTime) return fmi2Discard;
    *value = alive(c)->reached;
    return fmi2OK;
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value) {
    if (kind != fmi2Terminated) return fmi2Discard;
    *value = alive(c)->ended;
    return fmi2OK;
}

#ifndef NO_STATE
fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state) {
    Spring *s = alive(c);
#ifdef CRASHES_SAVING
    crash();
#endif
    if (*state == NULL) *state = malloc(sizeof *s);
    memcpy(*state, s, sizeof *s);
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state) {
    Spring *s = alive(c), *saved = state;
#ifdef FORGETS
    double v = s->value[V];
#endif
    memcpy(s->value, saved->value, sizeof s->value);
    s->time = saved->time;
#ifdef FORGETS
    s->value[V] = v;
#endif
#ifdef DRIFTS
    s->value[X] *= 1.0 + 1e-12;
#endif
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state) {
    alive(c);
    free(*state);
    *state = NULL;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size) {
    (void)state;
    alive(c);
    *size = sizeof(double) * (COUNT + 1);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte data[], size_t size) {
    Spring *saved = state;
    (void)size;
    alive(c);
#ifdef CRASHES_WRITING
    crash();
#endif
    memcpy(data, saved->value, sizeof saved->value);
    memcpy(data + sizeof saved->value, &saved->time, sizeof saved->time);
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte data[], size_t size, fmi2FMUstate *state) {
    if (size != sizeof(double) * (COUNT + 1)) return fmi2Error;
    Spring *copy = malloc(sizeof *copy);
    *copy = *alive(c);
    memcpy(copy->value, data, sizeof copy->value);
    memcpy(&copy->time, data + sizeof copy->value, sizeof copy->time);
#ifdef FORGETS_WRITTEN
    copy->value[V] = 0.0;
#endif
    *state = copy;
    return fmi2OK;
}
#endif
