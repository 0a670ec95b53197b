/* The engine of a unit whose host is not Python: the slave lives in a helper process of its own, and this end keeps a
 * copy of its numbers. fmus/serve.py is the other end.
 *
 * One socket, one request and one reply a call, in this machine's byte order:
 *     request  {uint32 call, uint32 size}, double ports[n], size bytes
 *     reply    {uint32 status, uint32 log_size, uint32 size}, double ports[n], log, result
 * n is 0 in the first exchange, which asks for the unit and answers with n, access[n] and ports[n]. The log is a
 * sequence of {uint32 status, uint32 length}, text with its final zero.
 *
 * The helper ends when its socket does, so it outlives neither the unit nor a host that is killed. Every wait has a
 * limit, after which the helper is ended and the unit answers every call with an error.
 */
#if !defined(_WIN32)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fmi2_engines.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

extern char **environ;

/* The calls, numbered as in fmus/serve.py. */
enum { OPEN, ENTER, START, TERMINATE, RESET, STEP, GET_TEXTS, SET_TEXTS, SAVE, RESTORE, FORGET, TO_BYTES, FROM_BYTES,
       NAME_OF };

/* A status beyond FMI's: this interpreter lacks something that another one may have. */
enum { STATUS_ELSEWHERE = 100 };

/* Seconds that a helper has to start, to answer a call unless SIMLOOP_TIMEOUT says otherwise, and to end. */
static const double START_LIMIT = 120.0;
static const double ANSWER_LIMIT = 60.0;
static const double END_LIMIT = 2.0;
/* A reply of more is not one of ours. */
enum { MOST_BYTES = 1 << 30 };

typedef struct {
    uint32_t status, log_size, size;
} ReplyHead;

typedef struct {
    char *at;
    size_t size;
} Room;

typedef struct {
    pid_t pid;
    int socket; /* -1 once the helper is given up */
    FILE *printed; /* what the helper wrote on its terminal */
    double limit;
    double *ports;
    unsigned char *access;
    Room request, reply;
    char *texts; /* keeps the last texts alive */
} Process;

typedef struct {
    uint32_t slot;
} SavedState;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits until the socket is ready; 0, or -1 at the deadline. */
static int wait_for(int fd, short event, double deadline)
{
    for (;;) {
        double left = deadline - now();
        if (left <= 0.0)
            return -1;
        struct pollfd p = {fd, event, 0};
        int n = poll(&p, 1, left > 1e6 ? 1000000000 : (int)(1e3 * left) + 1);
        if (n > 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return -1;
    }
}

static int move_all(Process *p, void *data, size_t size, int sending, double deadline)
{
    char *at = data;
    while (size > 0) {
        ssize_t n = sending ? send(p->socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : recv(p->socket, at, size, MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (n == 0) {
            return -1;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (wait_for(p->socket, sending ? POLLOUT : POLLIN, deadline) != 0)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

/* The last line that the helper printed, or nothing. */
static void last_words(Process *p, char *out, size_t size)
{
    out[0] = '\0';
    char tail[600];
    if (!p->printed || fseek(p->printed, 0, SEEK_END) != 0)
        return;
    long length = ftell(p->printed);
    long from = length > (long)sizeof tail - 1 ? length - (long)sizeof tail + 1 : 0;
    if (fseek(p->printed, from, SEEK_SET) != 0)
        return;
    size_t n = fread(tail, 1, sizeof tail - 1, p->printed);
    while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == ' '))
        n--;
    tail[n] = '\0';
    char *line = strrchr(tail, '\n');
    snprintf(out, size, "%s", line ? line + 1 : tail);
}

/* Lets the helper end by itself for a moment, then kills it; leaves no zombie. The pid is only used while the helper
 * has not been waited for, so it cannot be another process's. A host that waits for all children may come first. */
static void end_helper(Process *p)
{
    if (p->socket >= 0)
        close(p->socket);
    p->socket = -1;
    if (p->pid <= 0)
        return;
    double deadline = now() + END_LIMIT;
    pid_t gone;
    while ((gone = waitpid(p->pid, NULL, WNOHANG)) == 0 && now() < deadline)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (gone == 0) {
        kill(p->pid, SIGKILL);
        while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    p->pid = 0;
}

static void give_up(Process *p, char *reason, size_t size, double deadline)
{
    int late = now() >= deadline;
    pid_t pid = p->pid;
    if (late && pid > 0 && waitpid(pid, NULL, WNOHANG) == 0)
        kill(pid, SIGKILL);
    end_helper(p);
    char words[600];
    last_words(p, words, sizeof words);
    if (late)
        snprintf(reason, size, "did not answer within %g s", p->limit);
    else
        snprintf(reason, size, "ended%s%s", *words ? ": " : "", words);
}

static int make_room(Room *room, size_t size)
{
    char *at = size > room->size ? realloc(room->at, size) : room->at;
    if (!at)
        return -1;
    room->at = at;
    room->size = size > room->size ? size : room->size;
    return 0;
}

/* In one piece: the helper would wake for each. */
static int send_request(Process *p, uint32_t call, const double *ports, size_t ports_size, const void *argument,
                        uint32_t size, double deadline)
{
    uint32_t head[2] = {call, size};
    size_t whole = sizeof head + ports_size + size;
    if (make_room(&p->request, whole) != 0)
        return -1;
    memcpy(p->request.at, head, sizeof head);
    if (ports_size > 0)
        memcpy(p->request.at + sizeof head, ports, ports_size);
    if (size > 0)
        memcpy(p->request.at + sizeof head + ports_size, argument, size);
    return move_all(p, p->request.at, whole, 1, deadline);
}

/* Sends a request and receives its reply into p->reply; 0, or -1 with the helper given up and the reason. */
static int exchange(Process *p, uint32_t call, double *ports, size_t count, const void *argument, uint32_t size,
                    ReplyHead *head, char *reason, size_t reason_size)
{
    double deadline = now() + p->limit;
    if (p->socket < 0) {
        snprintf(reason, reason_size, "has ended");
        return -1;
    }
    size_t ports_size = count * sizeof *ports;
    int good = send_request(p, call, ports, ports_size, argument, size, deadline) == 0 &&
               move_all(p, head, sizeof *head, 0, deadline) == 0 && head->log_size <= MOST_BYTES &&
               head->size <= MOST_BYTES;
    size_t body = good ? (size_t)head->log_size + head->size : 0;
    good = good && make_room(&p->reply, body + 1) == 0 && move_all(p, ports, ports_size, 0, deadline) == 0 &&
           move_all(p, p->reply.at, body, 0, deadline) == 0;
    if (!good)
        give_up(p, reason, reason_size, deadline);
    return good ? 0 : -1;
}

/* Hands each text of a reply's log on. */
static void read_log(const Process *p, const ReplyHead *head, void (*hear)(void *, uint32_t, const char *), void *to)
{
    size_t at = 0;
    uint32_t entry[2];
    while (at + sizeof entry < head->log_size) {
        memcpy(entry, p->reply.at + at, sizeof entry);
        at += sizeof entry;
        if (entry[1] == 0 || entry[1] > head->log_size - at || p->reply.at[at + entry[1] - 1] != '\0')
            return;
        hear(to, entry[0], p->reply.at + at);
        at += entry[1];
    }
}

static void tell(void *unit, uint32_t status, const char *text) { unit_say(unit, (fmi2Status)status, text); }

/* One call of an open unit: the numbers go there and come back, the log goes to the host. */
static fmi2Status ask(Unit *u, uint32_t call, const void *argument, size_t size, const char **result, size_t *length)
{
    Process *p = u->model;
    ReplyHead head;
    char reason[700];
    if (size > MOST_BYTES)
        return unit_fail(u, "%s was given %zu bytes, which is too many", u->name, size);
    if (exchange(p, call, u->ports, u->count, argument, (uint32_t)size, &head, reason, sizeof reason) != 0)
        return unit_fail(u, "%s: the helper process that runs the model %s", u->name, reason);
    read_log(p, &head, tell, u);
    if (result) {
        *result = p->reply.at + head.log_size;
        *length = head.size;
    }
    return head.status <= fmi2Pending ? (fmi2Status)head.status : fmi2Error;
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
    if (((Process *)u->model)->socket >= 0)
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
    end_helper(p);
    if (p->printed)
        fclose(p->printed);
    free(p->ports);
    free(p->access);
    free(p->request.at);
    free(p->reply.at);
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

static void unshare_on_exec(int fd) { fcntl(fd, F_SETFD, fcntl(fd, F_GETFD) | FD_CLOEXEC); }

/* Starts `interpreter script` with the socket as its input, its own process group, so that a Ctrl-C at the terminal is
 * the host's alone, and no signal blocked or ignored. Returns 0 or an errno. */
static int spawn(Process *p, const char *interpreter, const char *script, int socket)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, socket, 0);
    posix_spawn_file_actions_adddup2(&files, fileno(p->printed), 1);
    posix_spawn_file_actions_adddup2(&files, fileno(p->printed), 2);
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGCHLD, SIGHUP};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        sigaddset(&usual, signals[i]);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    /* -E: a PYTHONHOME or PYTHONPATH of the host's is not meant for this interpreter. */
    char *arguments[] = {(char *)(uintptr_t)interpreter, "-E", (char *)(uintptr_t)script, NULL};
    int error = posix_spawnp(&p->pid, interpreter, &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error)
        p->pid = 0;
    return error;
}

static Process *begin(const char *interpreter, const char *script, char *reason, size_t size)
{
    Process *p = calloc(1, sizeof *p);
    int ends[2] = {-1, -1};
    if (!p)
        return NULL;
    p->socket = -1;
    p->limit = START_LIMIT;
    p->printed = tmpfile();
    if (!p->printed || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        snprintf(reason, size, "cannot be started: %s", strerror(errno));
        release(p);
        return NULL;
    }
    unshare_on_exec(ends[0]);
    unshare_on_exec(ends[1]);
    unshare_on_exec(fileno(p->printed));
#ifdef SO_NOSIGPIPE
    setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    p->socket = ends[0];
    int error = spawn(p, interpreter, script, ends[1]);
    close(ends[1]);
    if (error) {
        snprintf(reason, size, error == ENOENT ? "is not there" : "cannot be started: %s", strerror(error));
        release(p);
        return NULL;
    }
    return p;
}

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
    if (n > MOST_BYTES / 9 || size != sizeof n + (size_t)n * (1 + sizeof(double)))
        return -1;
    p->access = malloc((size_t)n + 1);
    p->ports = malloc((size_t)n * sizeof(double) + 1);
    if (!p->access || !p->ports)
        return -1;
    memcpy(p->access, result + sizeof n, n);
    memcpy(p->ports, result + sizeof n + n, (size_t)n * sizeof(double));
    const char *limit = getenv("SIMLOOP_TIMEOUT");
    p->limit = limit ? strtod(limit, NULL) : 0.0;
    if (!(p->limit > 0.0))
        p->limit = ANSWER_LIMIT;
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
    size_t lengths[2] = {strlen(u->name) + 1, strlen(guid) + 1};
    char *request = malloc(lengths[0] + lengths[1]);
    Process *p = request ? begin(interpreter, script, reason, size) : NULL;
    if (!p) {
        free(request);
        return OPEN_ELSEWHERE;
    }
    memcpy(request, u->name, lengths[0]);
    memcpy(request + lengths[0], guid, lengths[1]);
    ReplyHead head;
    int lost = exchange(p, OPEN, NULL, 0, request, (uint32_t)(lengths[0] + lengths[1]), &head, reason, size);
    free(request);
    OpenResult opened = OPEN_ELSEWHERE;
    if (lost == 0) {
        read_log(p, &head, copy_text, heard);
        if (head.status == fmi2OK && take_ports(u, p, p->reply.at + head.log_size, head.size) == 0)
            return OPEN_OK;
        if (head.status == STATUS_ELSEWHERE) {
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
