/* The FMI 2.0 co-simulation functions of every simloop unit.
 *
 * A unit's numbers live in one array of doubles, indexed by value reference. Getting and setting numbers happens on that
 * array; stepping, state and strings call the unit's engine (fmi2_unit.h). An error is told to the host's logger:
 * nothing is printed, the instance stays valid, and the host may go on, restore, reset or free it.
 *
 * Call order is the standard's. No globals; each instance owns what it points to.
 */
#include "fmi2_unit.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {"", "Real", "Integer", "Boolean"};

void unit_say(const Unit *u, fmi2Status status, const char *message)
{
    if (!u->host || !u->host->logger)
        return;
    const char *category = status >= fmi2Error ? "logStatusError" : "logStatusWarning";
    /* The message is a printf format for the host: double its percent signs. */
    char *safe = malloc(2 * strlen(message) + 1);
    if (!safe)
        return;
    char *out = safe;
    for (const char *in = message; *in; in++) {
        *out++ = *in;
        if (*in == '%')
            *out++ = '%';
    }
    *out = '\0';
    u->host->logger(u->host->componentEnvironment, u->name, status, category, safe);
    free(safe);
}

fmi2Status unit_fail(const Unit *u, const char *format, ...)
{
    char message[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    unit_say(u, fmi2Error, message);
    return fmi2Error;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int unit_resource(const char *resources, const char *file, char *out, size_t size)
{
    if (!resources || !*resources)
        return -1;
    const char *in = resources;
    int uri = strncmp(in, "file:", 5) == 0;
    if (uri) {
        in += 5;
        if (strncmp(in, "//", 2) == 0) {
            /* After the two slashes stands a host, empty or this machine. */
            in = strchr(in + 2, '/');
            if (!in)
                return -1;
        }
        /* /C:/folder */
        if (in[0] == '/' && in[1] && in[2] == ':')
            in++;
    }
    size_t n = 0;
    while (*in && n + 1 < size) {
        int high = uri && *in == '%' ? hex_digit(in[1]) : -1;
        int low = high >= 0 ? hex_digit(in[2]) : -1;
        out[n++] = low >= 0 ? (char)(16 * high + low) : *in;
        in += low >= 0 ? 3 : 1;
    }
    if (*in)
        return -1;
    while (n > 1 && out[n - 1] == '/')
        n--;
    int more = snprintf(out + n, size - n, "/%s", file);
    return more > 0 && (size_t)more < size - n ? 0 : -1;
}

static fmi2Status refuse(Unit *u, fmi2ValueReference vr, const char *problem)
{
    char name[256];
    u->engine->name_of(u, vr, name, sizeof name);
    return unit_fail(u, "%s.%s %s", u->name, name, problem);
}

static fmi2Status check_type(Unit *u, fmi2ValueReference vr, int type)
{
    if (vr < u->count && (u->access[vr] & TYPE_MASK) == type)
        return fmi2OK;
    char problem[80];
    snprintf(problem, sizeof problem, "(value reference %u) is not a variable of type %s", vr, type_names[type]);
    return refuse(u, vr, problem);
}

static fmi2Status check_settable(Unit *u, fmi2ValueReference vr, int type)
{
    fmi2Status status = check_type(u, vr, type);
    if (status != fmi2OK)
        return status;
    int set = u->access[vr] & SET_MASK;
    if (set == SET_NEVER)
        return refuse(u, vr, "is an output and cannot be set");
    if (set == SET_BEFORE_START && u->started)
        return refuse(u, vr, "is a fixed parameter and cannot be set after initialisation");
    return fmi2OK;
}

FMI2_EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
FMI2_EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

FMI2_EXPORT fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                                          const fmi2CallbackFunctions *host, fmi2Boolean visible, fmi2Boolean logging)
{
    (void)visible;
    (void)logging;
    Unit *u = calloc(1, sizeof *u);
    if (!u)
        return NULL;
    u->host = host;
    u->name = malloc(strlen(name ? name : "") + 1);
    if (!u->name) {
        free(u);
        return NULL;
    }
    strcpy(u->name, name ? name : "");
    int bad = 0;
    if (type != fmi2CoSimulation) {
        unit_say(u, fmi2Error, "this unit is for co-simulation; model exchange was asked for");
        bad = 1;
    }
    if (bad || unit_open(u, guid ? guid : "", resources ? resources : "") != 0) {
        free(u->name);
        free(u);
        return NULL;
    }
    return u;
}

FMI2_EXPORT void fmi2FreeInstance(fmi2Component c)
{
    if (!c)
        return;
    Unit *u = c;
    u->engine->close(u);
    free(u->name);
    free(u);
}

FMI2_EXPORT fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
{
    (void)c;
    (void)on;
    (void)n;
    (void)categories;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean tolerance_defined, fmi2Real tolerance,
                                           fmi2Real start, fmi2Boolean stop_defined, fmi2Real stop)
{
    (void)tolerance_defined, (void)tolerance, (void)stop_defined, (void)stop;
    Unit *u = c;
    u->start_time = start;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    Unit *u = c;
    return u->engine->enter(u, u->start_time);
}

FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Unit *u = c;
    fmi2Status status = u->engine->start(u);
    if (status == fmi2OK)
        u->started = 1;
    return status;
}

FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component c)
{
    Unit *u = c;
    return u->engine->terminate(u);
}

FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    Unit *u = c;
    fmi2Status status = u->engine->reset(u);
    u->started = 0;
    return status;
}

FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    Unit *u = c;
    for (size_t i = 0; i < n; i++) {
        if (check_type(u, vr[i], TYPE_REAL) != fmi2OK)
            return fmi2Error;
        value[i] = u->ports[vr[i]];
    }
    return fmi2OK;
}

static fmi2Status get_whole(Unit *u, const fmi2ValueReference vr[], size_t n, int value[], int type)
{
    for (size_t i = 0; i < n; i++) {
        if (check_type(u, vr[i], type) != fmi2OK)
            return fmi2Error;
        value[i] = (int)u->ports[vr[i]];
    }
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer value[])
{
    return get_whole(c, vr, n, value, TYPE_INTEGER);
}

FMI2_EXPORT fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean value[])
{
    return get_whole(c, vr, n, value, TYPE_BOOLEAN);
}

/* All or nothing: no value is taken before every one has been checked. */
FMI2_EXPORT fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[])
{
    Unit *u = c;
    for (size_t i = 0; i < n; i++) {
        if (check_settable(u, vr[i], TYPE_REAL) != fmi2OK)
            return fmi2Error;
        if (!isfinite(value[i]) && !(u->access[vr[i]] & ANY_NUMBER))
            return refuse(u, vr[i], isnan(value[i]) ? "was set to NaN; a finite number is needed"
                                                    : "was set to infinity; a finite number is needed");
    }
    for (size_t i = 0; i < n; i++)
        u->ports[vr[i]] = value[i];
    return fmi2OK;
}

static fmi2Status set_whole(Unit *u, const fmi2ValueReference vr[], size_t n, const int value[], int type)
{
    for (size_t i = 0; i < n; i++)
        if (check_settable(u, vr[i], type) != fmi2OK)
            return fmi2Error;
    for (size_t i = 0; i < n; i++)
        u->ports[vr[i]] = type == TYPE_BOOLEAN ? value[i] != 0 : value[i];
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                      const fmi2Integer value[])
{
    return set_whole(c, vr, n, value, TYPE_INTEGER);
}

FMI2_EXPORT fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                      const fmi2Boolean value[])
{
    return set_whole(c, vr, n, value, TYPE_BOOLEAN);
}

FMI2_EXPORT fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    Unit *u = c;
    return u->engine->get_texts(u, vr, n, value);
}

FMI2_EXPORT fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                     const fmi2String value[])
{
    Unit *u = c;
    return u->engine->set_texts(u, vr, n, value);
}

FMI2_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    Unit *u = c;
    return u->engine->save(u, state);
}

static fmi2Status no_state(const Unit *u, const char *function)
{
    return unit_fail(u, "%s was called with no state", function);
}

FMI2_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    Unit *u = c;
    return state ? u->engine->restore(u, state) : no_state(u, "fmi2SetFMUstate");
}

FMI2_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    Unit *u = c;
    if (!state || !*state)
        return fmi2OK;
    u->engine->forget(u, *state);
    *state = NULL;
    return fmi2OK;
}

FMI2_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    Unit *u = c;
    return state ? u->engine->size(u, state, size) : no_state(u, "fmi2SerializedFMUstateSize");
}

FMI2_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte out[], size_t size)
{
    Unit *u = c;
    return state ? u->engine->serialize(u, state, out, size) : no_state(u, "fmi2SerializeFMUstate");
}

FMI2_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte in[], size_t size, fmi2FMUstate *state)
{
    Unit *u = c;
    return u->engine->deserialize(u, in, size, state);
}

FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_restore)
{
    (void)no_restore;
    Unit *u = c;
    return u->engine->step(u, time, step);
}

/* What these units do not offer; the model description says so. */
static fmi2Status unsupported(fmi2Component c, const char *function)
{
    return unit_fail(c, "%s is not supported by this unit", function);
}

FMI2_EXPORT fmi2Status fmi2CancelStep(fmi2Component c) { return unsupported(c, "fmi2CancelStep"); }

FMI2_EXPORT fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference unknown[],
                                                    size_t n_unknown, const fmi2ValueReference known[],
                                                    size_t n_known, const fmi2Real seed[], fmi2Real out[])
{
    (void)unknown, (void)n_unknown, (void)known, (void)n_known, (void)seed, (void)out;
    return unsupported(c, "fmi2GetDirectionalDerivative");
}

FMI2_EXPORT fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                   const fmi2Integer order[], const fmi2Real value[])
{
    (void)vr, (void)n, (void)order, (void)value;
    return unsupported(c, "fmi2SetRealInputDerivatives");
}

FMI2_EXPORT fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                                    const fmi2Integer order[], fmi2Real value[])
{
    (void)vr, (void)n, (void)order, (void)value;
    return unsupported(c, "fmi2GetRealOutputDerivatives");
}

FMI2_EXPORT fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Status *value)
{
    (void)kind, (void)value;
    return unsupported(c, "fmi2GetStatus");
}

FMI2_EXPORT fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Real *value)
{
    (void)kind, (void)value;
    return unsupported(c, "fmi2GetRealStatus");
}

FMI2_EXPORT fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Integer *value)
{
    (void)kind, (void)value;
    return unsupported(c, "fmi2GetIntegerStatus");
}

FMI2_EXPORT fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *value)
{
    (void)kind, (void)value;
    return unsupported(c, "fmi2GetBooleanStatus");
}

FMI2_EXPORT fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind kind, fmi2String *value)
{
    (void)kind, (void)value;
    return unsupported(c, "fmi2GetStringStatus");
}
