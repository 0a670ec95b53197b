/* A helper process that runs a unit's model, and the exchange with it. fmus/serve.py is the other end.
 *
 * One socket, one request and one reply a call, in this machine's byte order:
 *     request  {uint32 call, uint32 size}, double ports[n], size bytes
 *     reply    {uint32 status, uint32 log_size, uint32 size}, double ports[n], log, result
 * n is 0 in the first exchange, which asks for the unit and answers with n, access[n] and ports[n]. The log is a
 * sequence of {uint32 status, uint32 length}, text with its final zero.
 *
 * The helper ends when its socket does, so it outlives neither the unit nor a host that is killed. Every wait has a
 * limit, after which the helper is ended and every call fails.
 */
#ifndef FMI2_HELPER_H
#define FMI2_HELPER_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* A request or a reply of more is not one of ours. */
enum { HELPER_MOST_BYTES = 1 << 30 };

typedef struct {
    char *at;
    size_t size;
} Room;

typedef struct {
    pid_t pid;
    int socket; /* -1 once the helper is given up */
    FILE *printed; /* what the helper wrote on its terminal */
    double limit; /* seconds that it has to answer a call */
    Room request, reply;
} Helper;

/* Valid until the next call. */
typedef struct {
    uint32_t status;
    const char *log, *result;
    size_t log_size, size;
} Reply;

/* Starts `interpreter script` with the socket as its input; 0, or -1 with the reason and nothing left behind. */
int helper_start(Helper *h, const char *interpreter, const char *script, char *reason, size_t size);

/* Sends a request and receives its reply, the numbers back into `ports`; 0, or -1 with the helper given up and the
 * reason. */
int helper_ask(Helper *h, uint32_t call, double *ports, size_t count, const void *argument, uint32_t size, Reply *reply,
               char *reason, size_t reason_size);

/* Hands each text of a reply's log on. */
void helper_read_log(const Reply *reply, void (*hear)(void *, uint32_t, const char *), void *to);

/* Ends the helper, and frees what it held. */
void helper_end(Helper *h);

#endif
