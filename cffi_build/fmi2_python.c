/* The engine of a unit whose host is a Python process: the slave lives in it, and the unit's numbers are its array.
 *
 * A Python exception becomes fmi2Error with its message sent to the host's logger. The library is linked with no
 * Python: every symbol is weak, found in the host or absent.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2_engines.h"

#if !defined(_WIN32)
#pragma weak PyBuffer_Release
#pragma weak PyBytes_AsString
#pragma weak PyBytes_Size
#pragma weak PyErr_Clear
#pragma weak PyErr_ExceptionMatches
#pragma weak PyErr_Fetch
#pragma weak PyErr_NormalizeException
#pragma weak PyErr_SetInterrupt
#pragma weak PyExc_AttributeError
#pragma weak PyExc_ImportError
#pragma weak PyExc_KeyboardInterrupt
#pragma weak PyExc_ValueError
#pragma weak PyFloat_FromDouble
#pragma weak PyGILState_Ensure
#pragma weak PyGILState_Release
#pragma weak PyImport_ImportModule
#pragma weak PyList_GetItem
#pragma weak PyList_New
#pragma weak PyList_SetItem
#pragma weak PyList_SetSlice
#pragma weak PyList_Size
#pragma weak PyLong_AsLong
#pragma weak PyLong_FromUnsignedLong
#pragma weak PyModule_Create2
#pragma weak PyObject_CallFunctionObjArgs
#pragma weak PyObject_CallMethod
#pragma weak _PyObject_CallMethod_SizeT
#pragma weak PyObject_GetAttrString
#pragma weak PyObject_GetBuffer
#pragma weak PyObject_IsTrue
#pragma weak PyObject_Repr
#pragma weak PyObject_Str
#pragma weak PySys_GetObject
#pragma weak PyUnicode_AsUTF8AndSize
#pragma weak PyUnicode_FromString
#pragma weak Py_IsInitialized
#pragma weak _Py_Dealloc
#pragma weak _Py_FalseStruct
#pragma weak _Py_NoneStruct
#pragma weak _Py_TrueStruct
#endif

typedef struct {
    PyObject *slave;
    PyObject *do_step;
    PyObject *log_queue;
    PyObject *strings; /* keeps the last texts alive */
    Py_buffer ports;   /* double[n] */
    Py_buffer access;  /* unsigned char[n] */
} Slave;

int python_is_running(void)
{
#if defined(_WIN32)
    return 1;
#else
    int (*asked)(void) = Py_IsInitialized;
    return asked && asked();
#endif
}

/* Take the pending Python exception as text. A ValueError speaks for itself, others are told with their type. Returns
 * whether it was an interrupt, for pass_on. Needs the GIL. */
static int take_error(char *out, size_t size)
{
    PyObject *type = NULL, *value = NULL, *trace = NULL;
    int interrupted = PyErr_ExceptionMatches(PyExc_KeyboardInterrupt);
    int spoken = PyErr_ExceptionMatches(PyExc_ValueError);
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *text = !value ? NULL : spoken ? PyObject_Str(value) : PyObject_Repr(value);
    const char *message = text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    snprintf(out, size, "%s", message && *message ? message : "unknown Python error");
    PyErr_Clear();
    Py_XDECREF(text);
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return interrupted;
}

/* An interrupt goes on to the host's own Python, which raises it when it is back in charge: after the logger was called,
 * or a logger in Python would swallow it. Needs the GIL. */
static void pass_on(int interrupted)
{
    if (interrupted)
        PyErr_SetInterrupt();
}

static fmi2Status fail(const Unit *u)
{
    char message[2048];
    int interrupted = take_error(message, sizeof message);
    unit_say(u, fmi2Error, message);
    pass_on(interrupted);
    return fmi2Error;
}

static void send_log(const Unit *u)
{
    PyObject *queue = ((Slave *)u->model)->log_queue;
    Py_ssize_t n = PyList_Size(queue);
    if (n <= 0)
        return;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *entry = PyList_GetItem(queue, i);
        PyObject *status = PyObject_GetAttrString(entry, "status");
        PyObject *message = PyObject_GetAttrString(entry, "msg");
        const char *text = message ? PyUnicode_AsUTF8AndSize(message, NULL) : NULL;
        if (status && text)
            unit_say(u, (fmi2Status)PyLong_AsLong(status), text);
        Py_XDECREF(status);
        Py_XDECREF(message);
        PyErr_Clear();
    }
    PyList_SetSlice(queue, 0, n, NULL);
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
    fmi2Status status = finish(u, PyObject_CallMethod(((Slave *)u->model)->slave, method, NULL));
    PyGILState_Release(gil);
    return status;
}

static fmi2Status enter(Unit *u, double start_time)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *slave = ((Slave *)u->model)->slave;
    fmi2Status status = finish(u, PyObject_CallMethod(slave, "set_start_time", "d", start_time));
    PyGILState_Release(gil);
    return status;
}

static fmi2Status start(Unit *u) { return call_plain(u, "exit_initialization_mode"); }
static fmi2Status terminate(Unit *u) { return call_plain(u, "terminate"); }
static fmi2Status reset(Unit *u) { return call_plain(u, "reset"); }

static fmi2Status step(Unit *u, double time, double size)
{
    Slave *s = u->model;
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2OK;
    PyObject *t = PyFloat_FromDouble(time);
    PyObject *h = PyFloat_FromDouble(size);
    PyObject *done = t && h ? PyObject_CallFunctionObjArgs(s->do_step, t, h, NULL) : NULL;
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

static PyObject *reference_list(const fmi2ValueReference vr[], size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++)
        PyList_SetItem(list, (Py_ssize_t)i, PyLong_FromUnsignedLong(vr[i]));
    return list;
}

static fmi2Status get_texts(Unit *u, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    Slave *s = u->model;
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2OK;
    PyObject *references = reference_list(vr, n);
    PyObject *strings = references ? PyObject_CallMethod(s->slave, "get_string", "O", references) : NULL;
    Py_XDECREF(references);
    if (!strings) {
        status = fail(u);
    } else {
        Py_XDECREF(s->strings);
        s->strings = strings;
        for (size_t i = 0; i < n && status == fmi2OK; i++) {
            value[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(strings, (Py_ssize_t)i), NULL);
            if (!value[i])
                status = fail(u);
        }
    }
    PyGILState_Release(gil);
    return status;
}

static fmi2Status set_texts(Unit *u, const fmi2ValueReference vr[], size_t n, const fmi2String value[])
{
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
        result = PyObject_CallMethod(((Slave *)u->model)->slave, "set_string", "OOO", references, strings,
                                     u->started ? Py_True : Py_False);
    Py_XDECREF(references);
    Py_XDECREF(strings);
    fmi2Status status = finish(u, result);
    PyGILState_Release(gil);
    return status;
}

static fmi2Status save(Unit *u, fmi2FMUstate *state)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2OK;
    PyObject *old = *state;
    PyObject *saved = PyObject_CallMethod(((Slave *)u->model)->slave, "_get_fmu_state", "O", old ? old : Py_None);
    if (!saved) {
        status = fail(u);
    } else {
        *state = saved;
        Py_XDECREF(old);
    }
    PyGILState_Release(gil);
    return status;
}

static fmi2Status restore(Unit *u, fmi2FMUstate state)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *slave = ((Slave *)u->model)->slave;
    fmi2Status status = finish(u, PyObject_CallMethod(slave, "_set_fmu_state", "O", (PyObject *)state));
    PyGILState_Release(gil);
    return status;
}

static void forget(Unit *u, fmi2FMUstate state)
{
    (void)u;
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_DECREF((PyObject *)state);
    PyGILState_Release(gil);
}

/* The serialised form of `state` as a new reference, or NULL with the error told. Needs the GIL. */
static PyObject *state_bytes(const Unit *u, fmi2FMUstate state)
{
    PyObject *slave = ((Slave *)u->model)->slave;
    PyObject *bytes = PyObject_CallMethod(slave, "_fmu_state_to_bytes", "O", (PyObject *)state);
    if (!bytes)
        fail(u);
    return bytes;
}

static fmi2Status size_of(Unit *u, fmi2FMUstate state, size_t *size)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *bytes = state_bytes(u, state);
    fmi2Status status = bytes ? fmi2OK : fmi2Error;
    if (bytes)
        *size = (size_t)PyBytes_Size(bytes);
    Py_XDECREF(bytes);
    PyGILState_Release(gil);
    return status;
}

static fmi2Status serialize(Unit *u, fmi2FMUstate state, fmi2Byte out[], size_t size)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2Error;
    PyObject *bytes = state_bytes(u, state);
    if (bytes && (size_t)PyBytes_Size(bytes) == size) {
        memcpy(out, PyBytes_AsString(bytes), size);
        status = fmi2OK;
    } else if (bytes) {
        unit_say(u, fmi2Error, "fmi2SerializeFMUstate was given a buffer of the wrong size");
    }
    Py_XDECREF(bytes);
    PyGILState_Release(gil);
    return status;
}

static fmi2Status deserialize(Unit *u, const fmi2Byte in[], size_t size, fmi2FMUstate *state)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    fmi2Status status = fmi2OK;
    PyObject *slave = ((Slave *)u->model)->slave;
    PyObject *restored = PyObject_CallMethod(slave, "_fmu_state_from_bytes", "y#", in, (Py_ssize_t)size);
    if (!restored) {
        status = fail(u);
    } else {
        Py_XDECREF((PyObject *)*state);
        *state = restored;
    }
    PyGILState_Release(gil);
    return status;
}

static void name_of(Unit *u, fmi2ValueReference vr, char *out, size_t size)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *name = PyObject_CallMethod(((Slave *)u->model)->slave, "name_of", "I", vr);
    const char *text = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    snprintf(out, size, "%s", text ? text : "?");
    PyErr_Clear();
    Py_XDECREF(name);
    PyGILState_Release(gil);
}

/* Needs the GIL. */
static void release(Slave *s)
{
    if (s->ports.obj)
        PyBuffer_Release(&s->ports);
    if (s->access.obj)
        PyBuffer_Release(&s->access);
    Py_XDECREF(s->strings);
    Py_XDECREF(s->log_queue);
    Py_XDECREF(s->do_step);
    Py_XDECREF(s->slave);
    free(s);
}

static void close_slave(Unit *u)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    release(u->model);
    PyGILState_Release(gil);
}

static const Engine python_engine = {
    .enter = enter,
    .start = start,
    .terminate = terminate,
    .reset = reset,
    .step = step,
    .get_texts = get_texts,
    .set_texts = set_texts,
    .save = save,
    .restore = restore,
    .forget = forget,
    .size = size_of,
    .serialize = serialize,
    .deserialize = deserialize,
    .name_of = name_of,
    .close = close_slave,
};

/* The module of the slaves, or NULL with the reason: simloop is missing, or another version of it. Needs the GIL. */
static PyObject *find_simloop(const char *resources, char *reason, size_t size)
{
    PyObject *module = PyImport_ImportModule("simloop.fmus.slave");
    PyObject *misfit = module ? PyObject_CallMethod(module, "misfit", "s", resources) : NULL;
    const char *text = misfit ? PyUnicode_AsUTF8AndSize(misfit, NULL) : NULL;
    if (text && !*text) {
        Py_DECREF(misfit);
        return module;
    }
    if (text)
        snprintf(reason, size, "%s", text);
    else
        pass_on(take_error(reason, size));
    Py_XDECREF(misfit);
    Py_XDECREF(module);
    return NULL;
}

/* Needs the GIL. */
static int bind_slave(Slave *s, PyObject *module, const char *name, const char *guid, const char *resources)
{
    s->slave = PyObject_CallMethod(module, "load", "sss", resources, name, guid);
    if (!s->slave)
        return -1;
    s->do_step = PyObject_GetAttrString(s->slave, "do_step");
    s->log_queue = PyObject_GetAttrString(s->slave, "log_queue");
    PyObject *ports = PyObject_GetAttrString(s->slave, "ports");
    PyObject *access = PyObject_GetAttrString(s->slave, "access");
    int bad = !s->do_step || !s->log_queue || !ports || !access ||
              PyObject_GetBuffer(ports, &s->ports, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0 ||
              PyObject_GetBuffer(access, &s->access, PyBUF_C_CONTIGUOUS) != 0;
    Py_XDECREF(ports);
    Py_XDECREF(access);
    return bad ? -1 : 0;
}

OpenResult python_open(Unit *u, const char *guid, const char *resources, char *reason, size_t size)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    OpenResult result = OPEN_ELSEWHERE;
    PyObject *module = find_simloop(resources, reason, size);
    Slave *s = module ? calloc(1, sizeof *s) : NULL;
    if (s && bind_slave(s, module, u->name, guid, resources) == 0) {
        u->engine = &python_engine;
        u->model = s;
        u->ports = s->ports.buf;
        u->access = s->access.buf;
        u->count = (size_t)s->access.len;
        result = OPEN_OK;
    } else if (s) {
        fail(u);
        release(s);
        result = OPEN_FAILED;
    }
    Py_XDECREF(module);
    PyGILState_Release(gil);
    return result;
}

int python_executable(char *out, size_t size)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    PyObject *path = PySys_GetObject("executable");
    const char *text = path ? PyUnicode_AsUTF8AndSize(path, NULL) : NULL;
    PyErr_Clear();
    const char *slash = text ? strrchr(text, '/') : NULL;
    /* A program that embeds Python may name itself here. */
    int good = slash && strncmp(slash + 1, "python", 6) == 0 && strlen(text) < size;
    if (good)
        strcpy(out, text);
    PyGILState_Release(gil);
    return good ? 0 : -1;
}

/* The wheel ships this library as an extension module, so that the exporter can find it and copy it into units. */
static struct PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_shell", NULL, 0, NULL, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__shell(void) { return PyModule_Create(&module_definition); }
