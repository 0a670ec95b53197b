/* The FMI 2.0 co-simulation functions of every simloop unit.
 *
 * A unit's numbers live in one array of doubles that belongs to its Python slave (simloop.fmus.slave.Slave), indexed
 * by value reference. Getting and setting numbers happens on that array without entering Python; stepping, state and
 * strings call the slave. A Python exception becomes fmi2Error with its message sent to the host's logger: nothing is
 * printed, the instance stays valid, and the host may go on, restore, reset or free it.
 *
 * Call order is the standard's. No globals; each instance owns what it points to. The library resolves Python from
 * its host, which must be a Python process.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#define FMI2_EXPORT __declspec(dllexport)
#else
#define FMI2_EXPORT __attribute__((visibility("default")))
#endif

/* Names and layouts as in the FMI 2.0.4 specification, sections 2.1.2 to 2.1.5. */
typedef void *fmi2Component;
typedef void *fmi2ComponentEnvironment;
typedef void *fmi2FMUstate;
typedef unsigned int fmi2ValueReference;
typedef double fmi2Real;
typedef int fmi2Integer;
typedef int fmi2Boolean;
typedef char fmi2Char;
typedef const fmi2Char *fmi2String;
typedef char fmi2Byte;
typedef enum { fmi2OK, fmi2Warning, fmi2Discard, fmi2Error, fmi2Fatal, fmi2Pending } fmi2Status;
typedef enum { fmi2ModelExchange, fmi2CoSimulation } fmi2Type;
typedef enum { fmi2DoStepStatus, fmi2PendingStatus, fmi2LastSuccessfulTime, fmi2Terminated } fmi2StatusKind;

typedef struct {
    void (*logger)(fmi2ComponentEnvironment, fmi2String, fmi2Status, fmi2String, fmi2String, ...);
    void *(*allocateMemory)(size_t, size_t);
    void (*freeMemory)(void *);
    void (*stepFinished)(fmi2ComponentEnvironment, fmi2Status);
    fmi2ComponentEnvironment componentEnvironment;
} fmi2CallbackFunctions;

/* One byte a value reference in the slave's `access`: low bits the type, high bits when it may be set and whether to
   NaN and infinity too. */
enum { TYPE_REAL = 1, TYPE_INTEGER = 2, TYPE_BOOLEAN = 3, TYPE_MASK = 0x0f };
enum { SET_NEVER = 0x00, SET_BEFORE_START = 0x10, SET_ALWAYS = 0x20, SET_MASK = 0x30, ANY_NUMBER = 0x40 };

typedef struct {
    PyObject *slave;
    PyObject *do_step;
    PyObject *log_queue;
    PyObject *strings; /* keeps the last fmi2GetString answer alive */
    Py_buffer ports;   /* double[n] */
    Py_buffer access;  /* unsigned char[n] */
    const fmi2CallbackFunctions *host;
    char *name;
    double start_time;
    int started;
} Unit;

static const char *const type_names[] = {"", "Real", "Integer", "Boolean"};

static void say(const Unit *u, fmi2Status status, const char *message)
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

/* Turn the pending Python exception into one log line. A ValueError speaks for itself, others are told with their
 * type. An interrupt goes on to the host's own Python, which raises it when it is back in charge. Needs the GIL. */
static fmi2Status fail(const Unit *u)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    int interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    int spoken = PyErr_ExceptionMatches(PyExc_ValueError);
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = !value ? NULL : spoken ? PyObject_Str(value) : PyObject_Repr(value);
    const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    say(u, fmi2Error, message && *message ? message : "unknown Python error");
    PyErr_Clear();
    if (interrupted)
        PyErr_SetInterrupt();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return fmi2Error;
}

static void send_log(const Unit *u)
{
    Py_ssize_t n = PyList_Size(u->log_queue);
    if (n <= 0)
        return;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *entry = PyList_GetItem(u->log_queue, i);
        PyObject *status = PyObject_GetAttrString(entry, "status");
        PyObject *message = PyObject_GetAttrString(entry, "msg");
        const char *text = message ? PyUnicode_AsUTF8AndSize(message, NULL) : NULL;
        if (status && text)
            say(u, (fmi2Status)PyLong_AsLong(status), text);
        Py_XDECREF(status);
        Py_XDECREF(message);
        PyErr_Clear();
    }
    PyList_SetSlice(u->log_queue, 0, n, NULL);
}

/* Consume a call's result: log what the slave said, report an exception. Needs the GIL. */
static fmi2Status finish(const Unit *u, PyObject *result)
{
    if (!result)
        return fail(u);
    Py_DECREF(result);
    send_log(u);
    return fmi2OK;
}

static fmi2Status call_plain(Unit *u, const char *method)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = finish(u, PyObject_CallMethod(u->slave, method, NULL));
    PyGILState_Release(gil);
    return status;
}

static fmi2Status refuse(const Unit *u, fmi2ValueReference vr, const char *problem)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *name = PyObject_CallMethod(u->slave, "name_of", "I", vr);
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    char message[512];
    snprintf(message, sizeof message, "%s.%s %s", u->name, text ? text : "?", problem);
    say(u, fmi2Error, message);
    PyErr_Clear();
    Py_XDECREF(name);
    PyGILState_Release(gil);
    return fmi2Error;
}

static fmi2Status check_type(const Unit *u, fmi2ValueReference vr, int type)
{
    const unsigned char *access = u->access.buf;
    if ((Py_ssize_t)vr < u->access.len && (access[vr] & TYPE_MASK) == type)
        return fmi2OK;
    char problem[80];
    snprintf(problem, sizeof problem, "(value reference %u) is not a variable of type %s", vr, type_names[type]);
    return refuse(u, vr, problem);
}

static fmi2Status check_settable(const Unit *u, fmi2ValueReference vr, int type)
{
    fmi2Status status = check_type(u, vr, type);
    if (status != fmi2OK)
        return status;
    int set = ((const unsigned char *)u->access.buf)[vr] & SET_MASK;
    if (set == SET_NEVER)
        return refuse(u, vr, "is an output and cannot be set");
    if (set == SET_BEFORE_START && u->started)
        return refuse(u, vr, "is a fixed parameter and cannot be set after initialisation");
    return fmi2OK;
}

static void release_unit(Unit *u)
{
    if (u->ports.obj)
        PyBuffer_Release(&u->ports);
    if (u->access.obj)
        PyBuffer_Release(&u->access);
    Py_XDECREF(u->strings);
    Py_XDECREF(u->log_queue);
    Py_XDECREF(u->do_step);
    Py_XDECREF(u->slave);
    free(u->name);
    free(u);
}

static int bind_slave(Unit *u, fmi2String guid, fmi2String resources)
{
    PyObject *module = PyImport_ImportModule("simloop.fmus.slave");
    if (!module)
        return -1;
    u->slave = PyObject_CallMethod(module, "load", "sss", resources ? resources : "", u->name, guid ? guid : "");
    Py_DECREF(module);
    if (!u->slave)
        return -1;
    u->do_step = PyObject_GetAttrString(u->slave, "do_step");
    u->log_queue = PyObject_GetAttrString(u->slave, "log_queue");
    PyObject *ports = PyObject_GetAttrString(u->slave, "ports");
    PyObject *access = PyObject_GetAttrString(u->slave, "access");
    int bad = !u->do_step || !u->log_queue || !ports || !access ||
              PyObject_GetBuffer(ports, &u->ports, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0 ||
              PyObject_GetBuffer(access, &u->access, PyBUF_C_CONTIGUOUS) != 0;
    Py_XDECREF(ports);
    Py_XDECREF(access);
    return bad ? -1 : 0;
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
    PyGILState_STATE gil = PyGILState_Ensure();
    int bad = 0;
    if (type != fmi2CoSimulation) {
        say(u, fmi2Error, "this unit is for co-simulation; model exchange was asked for");
        bad = 1;
    } else if (bind_slave(u, guid, resources) != 0) {
        fail(u);
        bad = 1;
    }
    if (bad) {
        release_unit(u);
        u = NULL;
    }
    PyGILState_Release(gil);
    return u;
}

FMI2_EXPORT void fmi2FreeInstance(fmi2Component c)
{
    if (!c)
        return;
    PyGILState_STATE gil = PyGILState_Ensure();
    release_unit(c);
    PyGILState_Release(gil);
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
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = finish(u, PyObject_CallMethod(u->slave, "set_start_time", "d", u->start_time));
    PyGILState_Release(gil);
    return status;
}

FMI2_EXPORT fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    Unit *u = c;
    fmi2Status status = call_plain(u, "exit_initialization_mode");
    if (status == fmi2OK)
        u->started = 1;
    return status;
}

FMI2_EXPORT fmi2Status fmi2Terminate(fmi2Component c) { return call_plain(c, "terminate"); }

FMI2_EXPORT fmi2Status fmi2Reset(fmi2Component c)
{
    Unit *u = c;
    fmi2Status status = call_plain(u, "reset");
    u->started = 0;
    return status;
}

FMI2_EXPORT fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[])
{
    const Unit *u = c;
    const double *ports = u->ports.buf;
    for (size_t i = 0; i < n; i++) {
        if (check_type(u, vr[i], TYPE_REAL) != fmi2OK)
            return fmi2Error;
        value[i] = ports[vr[i]];
    }
    return fmi2OK;
}

static fmi2Status get_whole(const Unit *u, const fmi2ValueReference vr[], size_t n, int value[], int type)
{
    const double *ports = u->ports.buf;
    for (size_t i = 0; i < n; i++) {
        if (check_type(u, vr[i], type) != fmi2OK)
            return fmi2Error;
        value[i] = (int)ports[vr[i]];
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
    double *ports = u->ports.buf;
    for (size_t i = 0; i < n; i++) {
        if (check_settable(u, vr[i], TYPE_REAL) != fmi2OK)
            return fmi2Error;
        if (!isfinite(value[i]) && !(((const unsigned char *)u->access.buf)[vr[i]] & ANY_NUMBER))
            return refuse(u, vr[i], isnan(value[i]) ? "was set to NaN; a finite number is needed"
                                                    : "was set to infinity; a finite number is needed");
    }
    for (size_t i = 0; i < n; i++)
        ports[vr[i]] = value[i];
    return fmi2OK;
}

static fmi2Status set_whole(const Unit *u, const fmi2ValueReference vr[], size_t n, const int value[], int type)
{
    double *ports = u->ports.buf;
    for (size_t i = 0; i < n; i++)
        if (check_settable(u, vr[i], type) != fmi2OK)
            return fmi2Error;
    for (size_t i = 0; i < n; i++)
        ports[vr[i]] = type == TYPE_BOOLEAN ? value[i] != 0 : value[i];
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

static PyObject *reference_list(const fmi2ValueReference vr[], size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromUnsignedLong(vr[i]));
    return list;
}

FMI2_EXPORT fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    Unit *u = c;
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2OK;
    PyObject *references = reference_list(vr, n);
    PyObject *strings = references ? PyObject_CallMethod(u->slave, "get_string", "O", references) : NULL;
    Py_XDECREF(references);
    if (!strings) {
        status = fail(u);
    } else {
        Py_XDECREF(u->strings);
        u->strings = strings;
        for (size_t i = 0; i < n && status == fmi2OK; i++) {
            value[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(strings, (Py_ssize_t)i), NULL);
            if (!value[i])
                status = fail(u);
        }
    }
    PyGILState_Release(gil);
    return status;
}

FMI2_EXPORT fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n,
                                     const fmi2String value[])
{
    Unit *u = c;
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *references = reference_list(vr, n);
    PyObject *strings = PyList_New((Py_ssize_t)n);
    PyObject *result = NULL;
    int good = references && strings;
    for (size_t i = 0; good && i < n; i++) {
        PyObject *text = PyUnicode_FromString(value[i] ? value[i] : "");
        good = text && PyList_SetItem(strings, (Py_ssize_t)i, text) == 0;
    }
    if (good)
        result = PyObject_CallMethod(u->slave, "set_string", "OOO", references, strings,
                                     u->started ? Py_True : Py_False);
    Py_XDECREF(references);
    Py_XDECREF(strings);
    fmi2Status status = finish(u, result);
    PyGILState_Release(gil);
    return status;
}

/* A non-NULL *state is overwritten in place, as the standard allows. */
FMI2_EXPORT fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    Unit *u = c;
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2OK;
    PyObject *old = *state;
    PyObject *saved = PyObject_CallMethod(u->slave, "_get_fmu_state", "O", old ? old : Py_None);
    if (!saved) {
        status = fail(u);
    } else {
        *state = saved;
        Py_XDECREF(old);
    }
    PyGILState_Release(gil);
    return status;
}

FMI2_EXPORT fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    Unit *u = c;
    if (!state) {
        say(u, fmi2Error, "fmi2SetFMUstate was called with no state");
        return fmi2Error;
    }
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = finish(u, PyObject_CallMethod(u->slave, "_set_fmu_state", "O", (PyObject *)state));
    PyGILState_Release(gil);
    return status;
}

FMI2_EXPORT fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    (void)c;
    if (!state)
        return fmi2OK;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_XDECREF((PyObject *)*state);
    PyGILState_Release(gil);
    *state = NULL;
    return fmi2OK;
}

/* The serialised form of `state` as a new reference, or NULL with the error told. Needs the GIL. */
static PyObject *state_bytes(const Unit *u, fmi2FMUstate state)
{
    PyObject *bytes = PyObject_CallMethod(u->slave, "_fmu_state_to_bytes", "O", (PyObject *)state);
    if (!bytes)
        fail(u);
    return bytes;
}

FMI2_EXPORT fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *bytes = state_bytes(c, state);
    if (bytes)
        *size = (size_t)PyBytes_Size(bytes);
    Py_XDECREF(bytes);
    PyGILState_Release(gil);
    return bytes ? fmi2OK : fmi2Error;
}

FMI2_EXPORT fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte out[], size_t size)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2Error;
    PyObject *bytes = state_bytes(c, state);
    if (bytes && (size_t)PyBytes_Size(bytes) == size) {
        memcpy(out, PyBytes_AsString(bytes), size);
        status = fmi2OK;
    } else if (bytes) {
        say(c, fmi2Error, "fmi2SerializeFMUstate was given a buffer of the wrong size");
    }
    Py_XDECREF(bytes);
    PyGILState_Release(gil);
    return status;
}

FMI2_EXPORT fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte in[], size_t size, fmi2FMUstate *state)
{
    Unit *u = c;
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2OK;
    PyObject *restored = PyObject_CallMethod(u->slave, "_fmu_state_from_bytes", "y#", in, (Py_ssize_t)size);
    if (!restored) {
        status = fail(u);
    } else {
        Py_XDECREF((PyObject *)*state);
        *state = restored;
    }
    PyGILState_Release(gil);
    return status;
}

FMI2_EXPORT fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real step, fmi2Boolean no_restore)
{
    (void)no_restore;
    Unit *u = c;
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2OK;
    PyObject *t = PyFloat_FromDouble(time);
    PyObject *h = PyFloat_FromDouble(step);
    PyObject *done = t && h ? PyObject_CallFunctionObjArgs(u->do_step, t, h, NULL) : NULL;
    Py_XDECREF(t);
    Py_XDECREF(h);
    if (!done) {
        status = fail(u);
    } else {
        int ok = PyObject_IsTrue(done);
        Py_DECREF(done);
        send_log(u);
        status = ok ? fmi2OK : fmi2Discard;
    }
    PyGILState_Release(gil);
    return status;
}

/* What these units do not offer; the model description says so. */
static fmi2Status unsupported(fmi2Component c, const char *function)
{
    char message[120];
    snprintf(message, sizeof message, "%s is not supported by this unit", function);
    say(c, fmi2Error, message);
    return fmi2Error;
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

/* The wheel ships this library as an extension module, so that the exporter can find it and copy it into units. */
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_shell", NULL, 0, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__shell(void) { return PyModule_Create(&module); }
