/* A native co-simulation unit of FMI 2.0 with one real way through it, and a Boolean and an Integer one.
   STEP gives the new y from y, u, k, the time t at the step's end and its length h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"

enum { U, Y, K, REALS };
enum { ON, WAS_ON, BOOLEANS };
enum { N, WAS_N, INTEGERS };

typedef struct {
    double real[REALS];
    int boolean[BOOLEANS];
    int integer[INTEGERS];
} Block;

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *functions, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)name, (void)resources, (void)functions, (void)visible, (void)logging;
    Block *block = calloc(1, sizeof *block);
    if (type != fmi2CoSimulation || strcmp(guid, GUID) != 0 || block == NULL) {
        free(block);
        return NULL;
    }
    block->real[K] = 1.0;
    block->real[Y] = FIRST;
    return block;
}

void fmi2FreeInstance(fmi2Component c) { free(c); }

#define ACCESS(Name, Type, field, count)                                                                       \
    fmi2Status fmi2Get##Name(fmi2Component c, const fmi2ValueReference vr[], size_t n, Type value[])           \
    {                                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                                       \
            if (vr[i] >= count) return fmi2Error;                                                              \
            value[i] = ((Block *)c)->field[vr[i]];                                                             \
        }                                                                                                      \
        return fmi2OK;                                                                                         \
    }                                                                                                          \
    fmi2Status fmi2Set##Name(fmi2Component c, const fmi2ValueReference vr[], size_t n, const Type value[])     \
    {                                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                                       \
            if (vr[i] >= count) return fmi2Error;                                                              \
            ((Block *)c)->field[vr[i]] = value[i];                                                             \
        }                                                                                                      \
        return fmi2OK;                                                                                         \
    }

ACCESS(Real, fmi2Real, real, REALS)
ACCESS(Boolean, fmi2Boolean, boolean, BOOLEANS)
ACCESS(Integer, fmi2Integer, integer, INTEGERS)

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    (void)c, (void)vr, (void)value;
    return n ? fmi2Error : fmi2OK;
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[])
{
    (void)c, (void)vr, (void)value;
    return n ? fmi2Error : fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real h, fmi2Boolean no_rollback)
{
    (void)no_rollback;
    Block *block = c;
    const double u = block->real[U], k = block->real[K], t = time + h;
    double y = block->real[Y];
    (void)u, (void)k, (void)t, (void)h;
    STEP;
    block->real[Y] = y;
    block->boolean[WAS_ON] = block->boolean[ON];
    block->integer[WAS_N] = block->integer[N];
    return fmi2OK;
}

typedef Block State;
#include "state.h"
