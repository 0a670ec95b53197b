/* A level that rises by 1 a second and is emptied when it passes 0.25, FMI 3.0 with event mode, early return, clocks.

   A step ends early where the level passes 0.25; the event empties it in two updates and ticks the clock `emptied`. The
   host ticks `period` every 0.1 s, which adds 1 to `periods`, and may tick `kick`, which adds 1 to `kicks`. `offset` is a
   discrete input that may be set in event mode only; `shown` is offset + level. A call in the wrong mode is an error. */
#include <stdlib.h>
#include "fmi3Functions.h"

enum { TIME, LEVEL, PERIODS, KICKS, OFFSET, SHOWN, PERIOD, KICK, EMPTIED, UPDATES };
enum Mode { START, EVENT, STEP };

typedef struct {
    double level, offset;
    int32_t periods, kicks, updates;
    enum Mode mode;
    fmi3Boolean period, kick, full, emptied;
    int events, early;
} Level;

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean events, fmi3Boolean early,
                                         const fmi3ValueReference needed[], size_t n, fmi3InstanceEnvironment host,
                                         fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)needed, (void)n, (void)host;
    (void)log, (void)update;
    Level *c = calloc(1, sizeof *c);
    c->events = events;
    c->early = early;
    return c;
}
void fmi3FreeInstance(fmi3Instance c) { free(c); }
fmi3Status fmi3ExitInitializationMode(fmi3Instance instance) {
    Level *c = instance;
    c->mode = c->events ? EVENT : STEP;
    return fmi3OK;
}
fmi3Status fmi3EnterEventMode(fmi3Instance instance) {
    Level *c = instance;
    if (c->mode != STEP) return fmi3Error;
    c->mode = EVENT;
    c->updates = 0;
    return fmi3OK;
}
fmi3Status fmi3EnterStepMode(fmi3Instance instance) {
    Level *c = instance;
    if (c->mode != EVENT || c->full || c->period || c->kick) return fmi3Error;
    c->mode = STEP;
    c->emptied = fmi3False;
    return fmi3OK;
}
fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *more, fmi3Boolean *end, fmi3Boolean *a,
                                    fmi3Boolean *b, fmi3Boolean *known, fmi3Float64 *next) {
    (void)next;
    Level *c = instance;
    if (c->mode != EVENT) return fmi3Error;
    *end = *a = *b = *known = fmi3False;
    c->updates++;
    c->periods += c->period;
    c->kicks += c->kick;
    c->period = c->kick = fmi3False;
    c->emptied = c->full && c->updates == 1;
    *more = c->emptied;
    if (c->full && c->updates == 2) {
        c->level = 0.0;
        c->full = fmi3False;
    }
    return fmi3OK;
}
fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 time, fmi3Float64 h, fmi3Boolean no_going_back,
                      fmi3Boolean *event, fmi3Boolean *end, fmi3Boolean *early, fmi3Float64 *reached) {
    (void)no_going_back;
    Level *c = instance;
    if (c->mode != STEP) return fmi3Error;
    *event = *end = *early = fmi3False;
    if (c->level + h >= 0.25 - 1e-12) {
        double part = 0.25 - c->level;
        *early = part < h - 1e-12;
        if (*early && !c->early) return fmi3Error;
        h = *early ? part : h;
        *event = c->full = fmi3True;
    }
    c->level += h;
    *reached = time + h;
    return fmi3OK;
}
fmi3Status fmi3GetFloat64(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Float64 value[],
                          size_t count) {
    (void)count;
    Level *c = instance;
    for (size_t i = 0; i < n; i++) value[i] = vr[i] == LEVEL ? c->level : vr[i] == OFFSET ? c->offset : c->level + c->offset;
    return fmi3OK;
}
fmi3Status fmi3SetFloat64(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Float64 value[],
                          size_t count) {
    (void)count;
    Level *c = instance;
    for (size_t i = 0; i < n; i++) {
        if (vr[i] != OFFSET || c->mode == STEP) return fmi3Error;
        c->offset = value[i];
    }
    return fmi3OK;
}
fmi3Status fmi3GetInt32(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Int32 value[],
                        size_t count) {
    (void)count;
    Level *c = instance;
    for (size_t i = 0; i < n; i++) value[i] = vr[i] == PERIODS ? c->periods : vr[i] == KICKS ? c->kicks : c->updates;
    return fmi3OK;
}
fmi3Status fmi3SetInt32(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Int32 value[], size_t count) {
    (void)c, (void)vr, (void)n, (void)value, (void)count;
    return fmi3Error;
}
fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, fmi3Clock value[]) {
    Level *c = instance;
    if (c->mode != EVENT) return fmi3Error;
    for (size_t i = 0; i < n; i++) value[i] = vr[i] == EMPTIED && c->emptied;
    return fmi3OK;
}
fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference vr[], size_t n, const fmi3Clock value[]) {
    Level *c = instance;
    if (c->mode != EVENT) return fmi3Error;
    for (size_t i = 0; i < n; i++) {
        if (vr[i] == PERIOD) c->period = value[i];
        else if (vr[i] == KICK) c->kick = value[i];
        else return fmi3Error;
    }
    return fmi3OK;
}

typedef Level State;
#include "state.h"
