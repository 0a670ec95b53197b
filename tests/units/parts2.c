/* Parts of small systems, FMI 2.0, one of them by a macro:

   FLIGHT   a ball in flight; when the count of bounces goes up it leaves with the speed that it is told
   GROUND   how far above it the ball is, and the speed that it would leave with; both follow their inputs at once
   THROUGH  y = gain u + offset + t, at once */
#include <stdlib.h>
#include "fmi2Functions.h"

#if defined FLIGHT
enum { V_AFTER, Z, V, SEEN, COUNT };
#elif defined GROUND
enum { Z, V, GAP, V_AFTER, COUNT };
#else
enum { U, GAIN, OFFSET, Y, T, COUNT };
#endif

typedef struct {
    double value[COUNT];
    int bounces;
} Part;

/* What follows inputs at once, so that it is true whenever it is read. */
static void update(Part *p) {
    double *value = p->value;
    (void)value;
#if defined GROUND
    value[GAP] = value[Z];
    value[V_AFTER] = -0.95 * value[V];
#elif defined THROUGH
    value[Y] = value[GAIN] * value[U] + value[OFFSET] + value[T];
#endif
}

static void advance(Part *p, double time, double h) {
    double *value = p->value;
    (void)value, (void)time, (void)h;
#if defined FLIGHT
    if (p->bounces != (int)value[SEEN]) {
        value[V] = value[V_AFTER];
        value[SEEN] = p->bounces;
    }
    value[Z] += value[V] * h - 0.5 * 9.81 * h * h;
    value[V] -= 9.81 * h;
#elif defined THROUGH
    value[T] = time + h;
#endif
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
    Part *p = calloc(1, sizeof *p);
#if defined FLIGHT
    if (p) p->value[Z] = 1.0;
#endif
    return p;
}

void fmi2FreeInstance(fmi2Component c) { free(c); }

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    update(c);
    for (size_t i = 0; i < n; i++) value[i] = ((Part *)c)->value[vr[i]];
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) ((Part *)c)->value[vr[i]] = value[i];
    return fmi2OK;
}
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer value[]) {
    (void)vr;
    for (size_t i = 0; i < n; i++) value[i] = ((Part *)c)->bounces;
    return fmi2OK;
}
fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer value[]) {
    (void)vr;
    for (size_t i = 0; i < n; i++) ((Part *)c)->bounces = value[i];
    return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real h, fmi2Boolean no_going_back) {
    (void)no_going_back;
    advance(c, time, h);
    return fmi2OK;
}

typedef Part State;
#include "state.h"
