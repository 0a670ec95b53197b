#if !defined(_WIN32)
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fmi2_helper.h"

#ifndef MSG_NOSIGNAL
#define MSG_NOSIGNAL 0
#endif

extern char **environ;

/* Seconds that a helper has to start and answer its first call, and to end. */
static const double START_LIMIT = 120.0;
static const double END_LIMIT = 2.0;

typedef struct {
    uint32_t status, log_size, size;
} ReplyHead;

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

static int move_all(Helper *h, void *data, size_t size, int sending, double deadline)
{
    char *at = data;
    while (size > 0) {
        ssize_t n = sending ? send(h->socket, at, size, MSG_NOSIGNAL | MSG_DONTWAIT)
                            : recv(h->socket, at, size, MSG_DONTWAIT);
        if (n > 0) {
            at += n;
            size -= (size_t)n;
        } else if (n == 0) {
            return -1;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            if (wait_for(h->socket, sending ? POLLOUT : POLLIN, deadline) != 0)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

/* The last line that the helper printed, or nothing. */
static void last_words(Helper *h, char *out, size_t size)
{
    out[0] = '\0';
    char tail[600];
    if (!h->printed || fseek(h->printed, 0, SEEK_END) != 0)
        return;
    long length = ftell(h->printed);
    long from = length > (long)sizeof tail - 1 ? length - (long)sizeof tail + 1 : 0;
    if (fseek(h->printed, from, SEEK_SET) != 0)
        return;
    size_t n = fread(tail, 1, sizeof tail - 1, h->printed);
    while (n > 0 && (tail[n - 1] == '\n' || tail[n - 1] == ' '))
        n--;
    tail[n] = '\0';
    char *line = strrchr(tail, '\n');
    snprintf(out, size, "%s", line ? line + 1 : tail);
}

/* Lets the helper end by itself for a moment, then kills it; leaves no zombie. The pid is only used while the helper
 * has not been waited for, so it cannot be another process's. A host that waits for all children may come first. */
static void end_process(Helper *h)
{
    if (h->socket >= 0)
        close(h->socket);
    h->socket = -1;
    if (h->pid <= 0)
        return;
    double deadline = now() + END_LIMIT;
    pid_t gone;
    while ((gone = waitpid(h->pid, NULL, WNOHANG)) == 0 && now() < deadline)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (gone == 0) {
        kill(h->pid, SIGKILL);
        while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    h->pid = 0;
}

static void give_up(Helper *h, char *reason, size_t size, double deadline)
{
    int late = now() >= deadline;
    pid_t pid = h->pid;
    if (late && pid > 0 && waitpid(pid, NULL, WNOHANG) == 0)
        kill(pid, SIGKILL);
    end_process(h);
    char words[600];
    last_words(h, words, sizeof words);
    if (late)
        snprintf(reason, size, "did not answer within %g s", h->limit);
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
static int send_request(Helper *h, uint32_t call, const double *ports, size_t ports_size, const void *argument,
                        uint32_t size, double deadline)
{
    uint32_t head[2] = {call, size};
    size_t whole = sizeof head + ports_size + size;
    if (make_room(&h->request, whole) != 0)
        return -1;
    memcpy(h->request.at, head, sizeof head);
    if (ports_size > 0)
        memcpy(h->request.at + sizeof head, ports, ports_size);
    if (size > 0)
        memcpy(h->request.at + sizeof head + ports_size, argument, size);
    return move_all(h, h->request.at, whole, 1, deadline);
}

int helper_ask(Helper *h, uint32_t call, double *ports, size_t count, const void *argument, uint32_t size, Reply *reply,
               char *reason, size_t reason_size)
{
    double deadline = now() + h->limit;
    if (h->socket < 0) {
        snprintf(reason, reason_size, "has ended");
        return -1;
    }
    ReplyHead head;
    size_t ports_size = count * sizeof *ports;
    int good = send_request(h, call, ports, ports_size, argument, size, deadline) == 0 &&
               move_all(h, &head, sizeof head, 0, deadline) == 0 && head.log_size <= HELPER_MOST_BYTES &&
               head.size <= HELPER_MOST_BYTES;
    size_t body = good ? (size_t)head.log_size + head.size : 0;
    good = good && make_room(&h->reply, body + 1) == 0 && move_all(h, ports, ports_size, 0, deadline) == 0 &&
           move_all(h, h->reply.at, body, 0, deadline) == 0;
    if (!good) {
        give_up(h, reason, reason_size, deadline);
        return -1;
    }
    *reply = (Reply){head.status, h->reply.at, h->reply.at + head.log_size, head.log_size, head.size};
    return 0;
}

void helper_read_log(const Reply *reply, void (*hear)(void *, uint32_t, const char *), void *to)
{
    size_t at = 0;
    uint32_t entry[2];
    while (at + sizeof entry < reply->log_size) {
        memcpy(entry, reply->log + at, sizeof entry);
        at += sizeof entry;
        if (entry[1] == 0 || entry[1] > reply->log_size - at || reply->log[at + entry[1] - 1] != '\0')
            return;
        hear(to, entry[0], reply->log + at);
        at += entry[1];
    }
}

void helper_end(Helper *h)
{
    end_process(h);
    if (h->printed)
        fclose(h->printed);
    free(h->request.at);
    free(h->reply.at);
    *h = (Helper){.socket = -1};
}

static void unshare_on_exec(int fd) { fcntl(fd, F_SETFD, fcntl(fd, F_GETFD) | FD_CLOEXEC); }

/* In its own process group, so that a Ctrl-C at the terminal is the host's alone, and no signal blocked or ignored.
 * Returns 0 or an errno. */
static int spawn(Helper *h, const char *interpreter, const char *script, int socket)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_adddup2(&files, socket, 0);
    posix_spawn_file_actions_adddup2(&files, fileno(h->printed), 1);
    posix_spawn_file_actions_adddup2(&files, fileno(h->printed), 2);
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
    int error = posix_spawnp(&h->pid, interpreter, &files, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error)
        h->pid = 0;
    return error;
}

int helper_start(Helper *h, const char *interpreter, const char *script, char *reason, size_t size)
{
    int ends[2] = {-1, -1};
    *h = (Helper){.socket = -1, .limit = START_LIMIT, .printed = tmpfile()};
    if (!h->printed || socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) {
        snprintf(reason, size, "cannot be started: %s", strerror(errno));
        helper_end(h);
        return -1;
    }
    unshare_on_exec(ends[0]);
    unshare_on_exec(ends[1]);
    unshare_on_exec(fileno(h->printed));
#ifdef SO_NOSIGPIPE
    setsockopt(ends[0], SOL_SOCKET, SO_NOSIGPIPE, &(int){1}, sizeof(int));
#endif
    h->socket = ends[0];
    int error = spawn(h, interpreter, script, ends[1]);
    close(ends[1]);
    if (error) {
        snprintf(reason, size, error == ENOENT ? "is not there" : "cannot be started: %s", strerror(error));
        helper_end(h);
        return -1;
    }
    return 0;
}
#endif
