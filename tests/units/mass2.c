/* A mass on a spring, FMI 2.0: x'' = -3 x - d x' + 2 u, with derivatives of u up to the second. Between communication
   points it takes small Runge-Kutta steps, whose error is far below that of any coupling. */
#include <stdlib.h>
#include <string.h>
#include "fmi2Functions.h"

enum { X, V, U, D, X0, COUNT };
enum { SUBSTEPS = 64 };

typedef struct {
    double values[COUNT];
    double rates[2]; /* of u, for the next step */
} Mass;

static double acceleration(const Mass *m, double x, double v, double s)
{
    double u = m->values[U] + s * (m->rates[0] + 0.5 * s * m->rates[1]);
    return -3.0 * x - m->values[D] * v + 2.0 * u;
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)name, (void)type, (void)guid, (void)resources, (void)functions, (void)visible, (void)logging;
    return calloc(1, sizeof(Mass));
}

void fmi2FreeInstance(fmi2Component c) { free(c); }

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean final)
{
    Mass *m = c;
    double h = step / SUBSTEPS, x = m->values[X], v = m->values[V];
    (void)time, (void)final;
    for (int i = 0; i < SUBSTEPS; i++) {
        double s = i * h;
        double a1 = acceleration(m, x, v, s);
        double v2 = v + 0.5 * h * a1, a2 = acceleration(m, x + 0.5 * h * v, v2, s + 0.5 * h);
        double v3 = v + 0.5 * h * a2, a3 = acceleration(m, x + 0.5 * h * v2, v3, s + 0.5 * h);
        double v4 = v + h * a3, a4 = acceleration(m, x + h * v3, v4, s + h);
        x += h / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4);
        v += h / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4);
    }
    m->values[X] = x;
    m->values[V] = v;
    memset(m->rates, 0, sizeof m->rates);
    return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    for (size_t i = 0; i < n; i++)
        value[i] = ((Mass *)c)->values[vr[i]];
    return fmi2OK;
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    for (size_t i = 0; i < n; i++)
        ((Mass *)c)->values[vr[i]] = value[i];
    return fmi2OK;
}

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    for (size_t i = 0; i < n; i++) {
        if (vr[i] != U || order[i] < 1 || order[i] > 2)
            return fmi2Error;
        ((Mass *)c)->rates[order[i] - 1] = value[i];
    }
    return fmi2OK;
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    ((Mass *)c)->values[X] = ((Mass *)c)->values[X0];
    return fmi2OK;
}

typedef Mass State;
#include "state.h"
