/* Two masses on springs, FMI 3.0, as arrays of two: m x'' = F - k x, exact for a force that is held over a step.

   `turn` is a matrix of two rows and three columns, a parameter; `turned` is turn times (x[0], x[1], 1).
   RETURNS_EARLY: a step ends where it reaches a multiple of 0.03 s.  DISCARDS: a step of more than 0.01 s is refused.
   CLAIMS_EARLY: says of each step that it ended early, though it did not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "fmi3Functions.h"

enum { TIME, SIZE, FORCE, STIFFNESS, X, V, TURN, TURNED, COUNT };
static const size_t LENGTH[COUNT] = {1, 1, 2, 1, 2, 2, 6, 2};

typedef struct {
    double value[COUNT][6];
} Springs;

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean events, fmi3Boolean early,
                                         const fmi3ValueReference needed[], size_t n, fmi3InstanceEnvironment host,
                                         fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
    (void)name, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)needed, (void)n;
    (void)update;
    if (strcmp(token, "springs") != 0) {
        log(host, fmi3Error, "error", "the instantiation token is not springs");
        return NULL;
    }
    Springs start = {.value = {[STIFFNESS] = {100.0}, [X] = {0.1, 0.2}, [TURN] = {1, 0, 0, 0, 1, 0}}};
    Springs *s = malloc(sizeof *s);
    *s = start;
    return s;
}
void fmi3FreeInstance(fmi3Instance c) { free(c); }
fmi3Status fmi3EnterInitializationMode(fmi3Instance c, fmi3Boolean a, fmi3Float64 b, fmi3Float64 start, fmi3Boolean d,
                                       fmi3Float64 e) {
    (void)a, (void)b, (void)d, (void)e;
    ((Springs *)c)->value[TIME][0] = start;
    return fmi3OK;
}
static void turn(Springs *s) {
    const double *t = s->value[TURN], *x = s->value[X];
    for (int i = 0; i < 2; i++) s->value[TURNED][i] = t[3 * i] * x[0] + t[3 * i + 1] * x[1] + t[3 * i + 2];
}
fmi3Status fmi3ExitInitializationMode(fmi3Instance c) { return turn(c), fmi3OK; }

fmi3Status fmi3GetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3Float64 value[], size_t count) {
    for (size_t i = 0, k = 0; i < n; k += LENGTH[vr[i++]]) {
        if (vr[i] >= COUNT || k + LENGTH[vr[i]] > count) return fmi3Error;
        memcpy(value + k, ((Springs *)c)->value[vr[i]], LENGTH[vr[i]] * sizeof *value);
    }
    return fmi3OK;
}
fmi3Status fmi3SetFloat64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3Float64 value[],
                          size_t count) {
    for (size_t i = 0, k = 0; i < n; k += LENGTH[vr[i++]]) {
        if (vr[i] >= COUNT || k + LENGTH[vr[i]] > count) return fmi3Error;
        memcpy(((Springs *)c)->value[vr[i]], value + k, LENGTH[vr[i]] * sizeof *value);
    }
    return fmi3OK;
}
fmi3Status fmi3GetUInt64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3UInt64 value[], size_t count) {
    (void)c, (void)vr, (void)count;
    for (size_t i = 0; i < n; i++) value[i] = 2;
    return fmi3OK;
}
fmi3Status fmi3SetUInt64(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3UInt64 value[],
                         size_t count) {
    (void)c, (void)vr, (void)n, (void)value, (void)count;
    return fmi3Error;
}

fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 time, fmi3Float64 h, fmi3Boolean no_going_back, fmi3Boolean *event,
                      fmi3Boolean *end, fmi3Boolean *early, fmi3Float64 *reached) {
    (void)no_going_back;
    Springs *s = c;
    *event = *end = *early = fmi3False;
#ifdef DISCARDS
    if (h > 0.01 + 1e-12) return *reached = time, fmi3Discard;
#endif
#ifdef RETURNS_EARLY
    double stop = 0.03 * (floor(time / 0.03 + 1e-9) + 1.0);
    if (stop < time + h - 1e-12) {
        h = stop - time;
        *early = fmi3True;
    }
#endif
    double w = sqrt(s->value[STIFFNESS][0]);
    for (int i = 0; i < 2; i++) {
        double rest = s->value[FORCE][i] / (w * w), away = s->value[X][i] - rest, v = s->value[V][i];
        s->value[X][i] = rest + away * cos(w * h) + v / w * sin(w * h);
        s->value[V][i] = v * cos(w * h) - away * w * sin(w * h);
    }
    turn(s);
    *reached = s->value[TIME][0] = time + h;
#ifdef CLAIMS_EARLY
    *early = fmi3True;
    *reached += h;
#endif
    return fmi3OK;
}

typedef Springs State;
#include "state.h"
