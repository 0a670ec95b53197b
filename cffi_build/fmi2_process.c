/* The engine of a unit whose host is not Python: the slave lives in a helper process of its own (fmi2_helper.h), and
 * this end keeps a copy of its numbers. When the helper is lost the unit answers every call with an error.
 */
#if !defined(_WIN32)
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2_engines.h"
#include "fmi2_helper.h"

/* The calls, numbered as in fmus/serve.py. */
enum { OPEN, ENTER, START, TERMINATE, RESET, STEP, GET_TEXTS, SET_TEXTS, SAVE, RESTORE, FORGET, TO_BYTES, FROM_BYTES,
       NAME_OF };

/* A status beyond FMI's: this interpreter lacks something that another one may have. */
enum { STATUS_ELSEWHERE = 100 };

/* Seconds that a helper has to answer a call unless SIMLOOP_TIMEOUT says otherwise. */
static const double ANSWER_LIMIT = 60.0;

typedef struct {
    Helper helper;
    double *ports;
    unsigned char *access;
    char *texts; /* keeps the last texts alive */
} Process;

typedef struct {
    uint32_t slot;
} SavedState;

static void tell(void *unit, uint32_t status, const char *text) { unit_say(unit, (fmi2Status)status, text); }

/* One call of an open unit: the numbers go there and come back, the log goes to the host. */
static fmi2Status ask(Unit *u, uint32_t call, const void *argument, size_t size, const char **result, size_t *length)
{
    Process *p = u->model;
    Reply reply;
    char reason[700];
    if (size > HELPER_MOST_BYTES)
        return unit_fail(u, "%s was given %zu bytes, which is too many", u->name, size);
    if (helper_ask(&p->helper, call, u->ports, u->count, argument, (uint32_t)size, &reply, reason, sizeof reason) != 0)
        return unit_fail(u, "%s: the helper process that runs the model %s", u->name, reason);
    helper_read_log(&reply, tell, u);
    if (result) {
        *result = reply.result;
        *length = reply.size;
    }
    return reply.status <= fmi2Pending ? (fmi2Status)reply.status : fmi2Error;
}

static fmi2Status ask_plain(Unit *u, uint32_t call) { return ask(u, call, NULL, 0, NULL, NULL); }

static fmi2Status enter(Unit *u, double start_time) { return ask(u, ENTER, &start_time, sizeof start_time, NULL, NULL); }
static fmi2Status start(Unit *u) { return ask_plain(u, START); }
static fmi2Status terminate(Unit *u) { return ask_plain(u, TERMINATE); }
static fmi2Status reset(Unit *u) { return ask_plain(u, RESET); }

static fmi2Status step(Unit *u, double time, double h)
{
    double when[2] = {time, h};
    return ask(u, STEP, when, sizeof when, NULL, NULL);
}

static fmi2Status broken_reply(const Unit *u)
{
    return unit_fail(u, "%s: the helper process gave an answer of the wrong size", u->name);
}

/* The reply is one text after another, each with its final zero. */
static fmi2Status get_texts(Unit *u, const fmi2ValueReference vr[], size_t n, fmi2String value[])
{
    Process *p = u->model;
    const char *result;
    size_t length;
    fmi2Status status = ask(u, GET_TEXTS, vr, n * sizeof *vr, &result, &length);
    if (status != fmi2OK)
        return status;
    char *kept = malloc(length + 1);
    if (!kept)
        return unit_fail(u, "%s: no memory", u->name);
    memcpy(kept, result, length);
    kept[length] = '\0';
    free(p->texts);
    p->texts = kept;
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        if (at >= length)
            return broken_reply(u);
        value[i] = kept + at;
        at += strlen(kept + at) + 1;
    }
    return fmi2OK;
}

/* The request is {uint32 started, uint32 n}, the references, then the texts as above. */
static fmi2Status set_texts(Unit *u, const fmi2ValueReference vr[], size_t n, const fmi2String value[])
{
    uint32_t head[2] = {(uint32_t)u->started, (uint32_t)n};
    size_t size = sizeof head + n * sizeof *vr, at = size;
    for (size_t i = 0; i < n; i++)
        size += strlen(value[i] ? value[i] : "") + 1;
    char *request = malloc(size);
    if (!request)
        return unit_fail(u, "%s: no memory", u->name);
    memcpy(request, head, sizeof head);
    memcpy(request + sizeof head, vr, n * sizeof *vr);
    for (size_t i = 0; i < n; i++) {
        size_t length = strlen(value[i] ? value[i] : "") + 1;
        memcpy(request + at, value[i] ? value[i] : "", length);
        at += length;
    }
    fmi2Status status = ask(u, SET_TEXTS, request, size, NULL, NULL);
    free(request);
    return status;
}

/* Asks for something that answers with the number of a saved state. */
static fmi2Status ask_state(Unit *u, uint32_t call, const void *argument, size_t size, fmi2FMUstate *state)
{
    const char *result;
    size_t length;
    fmi2Status status = ask(u, call, argument, size, &result, &length);
    if (status != fmi2OK)
        return status;
    SavedState *saved = *state ? *state : malloc(sizeof *saved);
    if (!saved)
        return unit_fail(u, "%s: no memory", u->name);
    if (length != sizeof saved->slot) {
        if (!*state)
            free(saved);
        return broken_reply(u);
    }
    memcpy(&saved->slot, result, sizeof saved->slot);
    *state = saved;
    return fmi2OK;
}

static fmi2Status save(Unit *u, fmi2FMUstate *state)
{
    uint32_t slot = *state ? ((SavedState *)*state)->slot : 0;
    return ask_state(u, SAVE, &slot, sizeof slot, state);
}

static fmi2Status restore(Unit *u, fmi2FMUstate state)
{
    return ask(u, RESTORE, &((SavedState *)state)->slot, sizeof(uint32_t), NULL, NULL);
}

static void forget(Unit *u, fmi2FMUstate state)
{
    if (((Process *)u->model)->helper.socket >= 0)
        ask(u, FORGET, &((SavedState *)state)->slot, sizeof(uint32_t), NULL, NULL);
    free(state);
}

static fmi2Status size_of(Unit *u, fmi2FMUstate state, size_t *size)
{
    const char *result;
    return ask(u, TO_BYTES, &((SavedState *)state)->slot, sizeof(uint32_t), &result, size);
}

static fmi2Status serialize(Unit *u, fmi2FMUstate state, fmi2Byte out[], size_t size)
{
    const char *result;
    size_t length;
    fmi2Status status = ask(u, TO_BYTES, &((SavedState *)state)->slot, sizeof(uint32_t), &result, &length);
    if (status != fmi2OK)
        return status;
    if (length != size)
        return unit_fail(u, "fmi2SerializeFMUstate was given a buffer of the wrong size");
    memcpy(out, result, size);
    return fmi2OK;
}

static fmi2Status deserialize(Unit *u, const fmi2Byte in[], size_t size, fmi2FMUstate *state)
{
    fmi2FMUstate made = NULL;
    fmi2Status status = ask_state(u, FROM_BYTES, in, size, &made);
    if (status == fmi2OK) {
        if (*state)
            forget(u, *state);
        *state = made;
    }
    return status;
}

static void name_of(Unit *u, fmi2ValueReference vr, char *out, size_t size)
{
    const char *result;
    size_t length;
    snprintf(out, size, "?");
    if (ask(u, NAME_OF, &vr, sizeof vr, &result, &length) == fmi2OK)
        snprintf(out, size, "%.*s", (int)length, result);
}

static void release(Process *p)
{
    helper_end(&p->helper);
    free(p->ports);
    free(p->access);
    free(p->texts);
    free(p);
}

static void close_process(Unit *u) { release(u->model); }

static const Engine process_engine = {
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
    .close = close_process,
};

static void copy_text(void *to, uint32_t status, const char *text)
{
    (void)status;
    snprintf(to, 1500, "%s", text);
}

/* Takes n, access[n] and ports[n] from the first reply. */
static int take_ports(Unit *u, Process *p, const char *result, size_t size)
{
    uint32_t n;
    if (size < sizeof n)
        return -1;
    memcpy(&n, result, sizeof n);
    if (n > HELPER_MOST_BYTES / 9 || size != sizeof n + (size_t)n * (1 + sizeof(double)))
        return -1;
    p->access = malloc((size_t)n + 1);
    p->ports = malloc((size_t)n * sizeof(double) + 1);
    if (!p->access || !p->ports)
        return -1;
    memcpy(p->access, result + sizeof n, n);
    memcpy(p->ports, result + sizeof n + n, (size_t)n * sizeof(double));
    const char *limit = getenv("SIMLOOP_TIMEOUT");
    p->helper.limit = limit ? strtod(limit, NULL) : 0.0;
    if (!(p->helper.limit > 0.0))
        p->helper.limit = ANSWER_LIMIT;
    u->engine = &process_engine;
    u->model = p;
    u->access = p->access;
    u->ports = p->ports;
    u->count = n;
    return 0;
}

OpenResult process_open(Unit *u, const char *interpreter, const char *guid, const char *resources, char *reason,
                        size_t size)
{
    char script[4096], heard[1500] = "";
    if (unit_resource(resources, "start.py", script, sizeof script) != 0) {
        unit_fail(u, "%s: the host gave %s%s as the place of the unit's resources; a file URI is needed", u->name,
                  *resources ? "" : "nothing", resources);
        return OPEN_FAILED;
    }
    size_t name_size = strlen(u->name) + 1, guid_size = strlen(guid) + 1;
    size_t whole = name_size + guid_size;
    char *request = malloc(whole);
    Process *p = calloc(1, sizeof *p);
    if (!request || !p || helper_start(&p->helper, interpreter, script, reason, size) != 0) {
        free(request);
        free(p);
        return OPEN_ELSEWHERE;
    }
    memcpy(request, u->name, name_size);
    memcpy(request + name_size, guid, guid_size);
    Reply reply;
    int lost = helper_ask(&p->helper, OPEN, NULL, 0, request, (uint32_t)whole, &reply, reason, size);
    free(request);
    OpenResult opened = OPEN_ELSEWHERE;
    if (lost == 0) {
        helper_read_log(&reply, copy_text, heard);
        if (reply.status == fmi2OK && take_ports(u, p, reply.result, reply.size) == 0)
            return OPEN_OK;
        if (reply.status == STATUS_ELSEWHERE) {
            snprintf(reason, size, "%s", heard);
        } else {
            unit_fail(u, "%s", *heard ? heard : "the helper process gave an answer that is not one");
            opened = OPEN_FAILED;
        }
    }
    release(p);
    return opened;
}
#endif
