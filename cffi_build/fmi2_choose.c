/* Which Python runs a unit, in this order:
 *     1. the interpreter that the environment variable SIMLOOP_PYTHON names, and then no other
 *     2. where the host is Python itself: it, in this process
 *     3. the interpreter that exported the unit
 *     4. python3 of the PATH
 * The first that is there and has what the unit needs is taken. All but the second are helper processes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2_engines.h"

#if defined(_WIN32)
/* There are no helper processes here yet: the host must be Python. */
int unit_open(Unit *u, const char *guid, const char *resources)
{
    char reason[1500] = "";
    OpenResult result = python_open(u, guid, resources, reason, sizeof reason);
    if (result == OPEN_ELSEWHERE)
        unit_say(u, fmi2Error, reason);
    return result == OPEN_OK ? 0 : -1;
}
#else

/* What was tried so far, for the host to read when nothing fits. */
typedef struct {
    char text[6000];
    size_t length;
} Trouble;

static void add(Trouble *t, const char *interpreter, const char *reason)
{
    size_t room = sizeof t->text - t->length;
    int n = snprintf(t->text + t->length, room, "%s%s %s", t->length ? "; " : "", interpreter, reason);
    if (n > 0)
        t->length += (size_t)n < room ? (size_t)n : room - 1;
}

static int read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return -1;
    int good = fgets(out, (int)size, file) != NULL;
    fclose(file);
    if (good)
        out[strcspn(out, "\r\n")] = '\0';
    return good && *out ? 0 : -1;
}

static OpenResult attempt(Unit *u, const char *interpreter, const char *guid, const char *resources, Trouble *t)
{
    char reason[1500] = "";
    OpenResult result = process_open(u, interpreter, guid, resources, reason, sizeof reason);
    if (result == OPEN_ELSEWHERE)
        add(t, interpreter, reason);
    return result;
}

static OpenResult open_somewhere(Unit *u, const char *guid, const char *resources, Trouble *t)
{
    const char *named = getenv("SIMLOOP_PYTHON");
    if (named && *named)
        return attempt(u, named, guid, resources, t);
    char path[4096], other[4096];
    OpenResult result = OPEN_ELSEWHERE;
    if (python_is_running()) {
        char reason[1500] = "";
        result = python_open(u, guid, resources, reason, sizeof reason);
        if (result == OPEN_ELSEWHERE)
            add(t, "this Python", reason);
        if (result == OPEN_ELSEWHERE && python_executable(path, sizeof path) == 0)
            result = attempt(u, path, guid, resources, t);
    }
    if (result == OPEN_ELSEWHERE && unit_resource(resources, "python.txt", path, sizeof path) == 0 &&
        read_line(path, other, sizeof other) == 0)
        result = attempt(u, other, guid, resources, t);
    return result == OPEN_ELSEWHERE ? attempt(u, "python3", guid, resources, t) : result;
}

int unit_open(Unit *u, const char *guid, const char *resources)
{
    Trouble trouble = {.length = 0};
    OpenResult result = open_somewhere(u, guid, resources, &trouble);
    if (result != OPEN_ELSEWHERE)
        return result == OPEN_OK ? 0 : -1;
    char path[4096], need[256] = "Python";
    if (unit_resource(resources, "needs.txt", path, sizeof path) == 0)
        read_line(path, need, sizeof need);
    char message[8000];
    snprintf(message, sizeof message,
             "%s needs %s, and found no interpreter that has them: %s. Set the environment variable SIMLOOP_PYTHON to "
             "one that has; 'python -m pip install -r requirements.txt', the file in the unit's resources, installs "
             "what is needed",
             u->name, need, trouble.text);
    unit_say(u, fmi2Error, message);
    return -1;
}
#endif
