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

const char *fmi2GetTypesPlatform(void) { return fmi2TypesPlatform; }
const char *fmi2GetVersion(void) { return fmi2Version; }

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
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    (void)c, (void)on, (void)n, (void)categories;
    return fmi2OK;
}
fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                               fmi2Boolean has_stop, fmi2Real stop)
{
    (void)c, (void)has_tolerance, (void)tolerance, (void)start, (void)has_stop, (void)stop;
    return fmi2OK;
}
fmi2Status fmi2EnterInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2ExitInitializationMode(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2Terminate(fmi2Component c) { (void)c; return fmi2OK; }
fmi2Status fmi2Reset(fmi2Component c) { (void)c; return fmi2OK; }

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
fmi2Status fmi2CancelStep(fmi2Component c) { (void)c; return fmi2Error; }

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    if (*state == NULL) *state = malloc(sizeof(Block));
    if (*state == NULL) return fmi2Error;
    memcpy(*state, c, sizeof(Block));
    return fmi2OK;
}
fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    memcpy(c, state, sizeof(Block));
    return fmi2OK;
}
fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    free(*state);
    *state = NULL;
    return fmi2OK;
}

/* Optional parts of the interface that hosts look for by name. */
#define ABSENT(Name, ...) fmi2Status Name(__VA_ARGS__) { return fmi2Error; }
ABSENT(fmi2SerializedFMUstateSize, fmi2Component c, fmi2FMUstate s, size_t *n)
ABSENT(fmi2SerializeFMUstate, fmi2Component c, fmi2FMUstate s, fmi2Byte b[], size_t n)
ABSENT(fmi2DeSerializeFMUstate, fmi2Component c, const fmi2Byte b[], size_t n, fmi2FMUstate *s)
ABSENT(fmi2GetDirectionalDerivative, fmi2Component c, const fmi2ValueReference u[], size_t nu,
       const fmi2ValueReference k[], size_t nk, const fmi2Real d[], fmi2Real r[])
ABSENT(fmi2SetRealInputDerivatives, fmi2Component c, const fmi2ValueReference v[], size_t n, const fmi2Integer o[],
       const fmi2Real x[])
ABSENT(fmi2GetRealOutputDerivatives, fmi2Component c, const fmi2ValueReference v[], size_t n, const fmi2Integer o[],
       fmi2Real x[])
ABSENT(fmi2GetStatus, fmi2Component c, const fmi2StatusKind k, fmi2Status *s)
ABSENT(fmi2GetRealStatus, fmi2Component c, const fmi2StatusKind k, fmi2Real *s)
ABSENT(fmi2GetIntegerStatus, fmi2Component c, const fmi2StatusKind k, fmi2Integer *s)
ABSENT(fmi2GetBooleanStatus, fmi2Component c, const fmi2StatusKind k, fmi2Boolean *s)
ABSENT(fmi2GetStringStatus, fmi2Component c, const fmi2StatusKind k, fmi2String *s)
