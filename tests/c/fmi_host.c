/* A host that is not Python: loads units with dlopen and does what standard input says, one command a line.
 *
 *     open NAME LIBRARY RESOURCES GUID    load a unit and instantiate it
 *     text NAME REFERENCE VALUE           set a string before the start
 *     start NAME                          initialise at time 0
 *     set NAME REFERENCE VALUE…           set consecutive reals, decimal or as C's hexadecimal floats
 *     whole NAME REFERENCE VALUE          set an integer
 *     flag NAME REFERENCE VALUE           set a boolean
 *     copy FROM REFERENCE TO REFERENCE N  connect: get N consecutive reals and set them
 *     get NAME REFERENCE N                print N consecutive reals as hexadecimal floats
 *     string NAME REFERENCE               print a string
 *     step NAME TIME H
 *     save NAME | restore NAME            one state a unit, kept between saves
 *     pass FROM TO                        serialise FROM's saved state, and be in it in TO
 *     reset NAME | close NAME
 *     pause                               print "paused" and wait for one more line
 *
 * A call that is not fmi2OK prints "status N function"; what units log goes to the same stream, after "log". Only bad
 * commands end the program with an error. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cffi_build/fmi2.h"

enum { MOST_UNITS = 8, MOST_VALUES = 256, MOST_LINE = 16384 };

typedef struct {
    char name[64];
    void *library;
    fmi2Component unit;
    fmi2FMUstate state;
    fmi2CallbackFunctions callbacks;
} Loaded;

static Loaded loaded[MOST_UNITS];

static void die(const char *why, const char *what)
{
    fprintf(stderr, "%s: %s\n", why, what);
    exit(1);
}

static void hear(fmi2ComponentEnvironment environment, fmi2String name, fmi2Status status, fmi2String category,
                 fmi2String format, ...)
{
    (void)environment;
    (void)category;
    va_list arguments;
    va_start(arguments, format);
    printf("log %s %d ", name, status);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

static Loaded *find(const char *name)
{
    for (int i = 0; i < MOST_UNITS; i++)
        if (loaded[i].library && name && strcmp(loaded[i].name, name) == 0)
            return &loaded[i];
    die("no such unit", name ? name : "");
    return NULL;
}

/* The function of that name in a unit's library, as a pointer of type `type`. */
#define FUNCTION(type, l, name) ((type)function_of(l, name))
typedef fmi2Status (*Plain)(fmi2Component);
typedef fmi2Status (*Reals)(fmi2Component, const fmi2ValueReference[], size_t, fmi2Real[]);
typedef fmi2Status (*Wholes)(fmi2Component, const fmi2ValueReference[], size_t, const int[]);
typedef fmi2Status (*Strings)(fmi2Component, const fmi2ValueReference[], size_t, fmi2String[]);

static void (*function_of(const Loaded *l, const char *name))(void)
{
    void (*found)(void);
    *(void **)&found = dlsym(l->library, name);
    if (!found)
        die("no function", name);
    return found;
}

static void judge(fmi2Status status, const char *function)
{
    if (status != fmi2OK)
        printf("status %d %s\n", status, function);
}

static void open_unit(const char *name, const char *library, const char *resources, const char *guid)
{
    Loaded *l = loaded;
    while (l < loaded + MOST_UNITS && l->library)
        l++;
    if (l == loaded + MOST_UNITS || !name || !library || !resources || !guid)
        die("cannot open", name ? name : "");
    l->library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!l->library)
        die("dlopen", dlerror());
    snprintf(l->name, sizeof l->name, "%s", name);
    l->callbacks = (fmi2CallbackFunctions){hear, calloc, free, NULL, NULL};
    typedef fmi2Component (*Instantiate)(fmi2String, fmi2Type, fmi2String, fmi2String, const fmi2CallbackFunctions *,
                                         fmi2Boolean, fmi2Boolean);
    l->unit = FUNCTION(Instantiate, l, "fmi2Instantiate")(name, fmi2CoSimulation, guid, resources, &l->callbacks, 0, 1);
    if (!l->unit) {
        printf("status %d fmi2Instantiate\n", fmi2Error);
        dlclose(l->library);
        *l = (Loaded){.library = NULL};
    }
}

static void start(const Loaded *l)
{
    typedef fmi2Status (*Setup)(fmi2Component, fmi2Boolean, fmi2Real, fmi2Real, fmi2Boolean, fmi2Real);
    judge(FUNCTION(Setup, l, "fmi2SetupExperiment")(l->unit, 0, 0.0, 0.0, 0, 0.0), "fmi2SetupExperiment");
    judge(FUNCTION(Plain, l, "fmi2EnterInitializationMode")(l->unit), "fmi2EnterInitializationMode");
    judge(FUNCTION(Plain, l, "fmi2ExitInitializationMode")(l->unit), "fmi2ExitInitializationMode");
}

static void step(const Loaded *l, double time, double h)
{
    typedef fmi2Status (*DoStep)(fmi2Component, fmi2Real, fmi2Real, fmi2Boolean);
    judge(FUNCTION(DoStep, l, "fmi2DoStep")(l->unit, time, h, 0), "fmi2DoStep");
}

static void number_from(fmi2ValueReference vr[], unsigned first, size_t n)
{
    for (size_t i = 0; i < n; i++)
        vr[i] = first + (unsigned)i;
}

static fmi2Status get(const Loaded *l, unsigned first, size_t n, double value[])
{
    fmi2ValueReference vr[MOST_VALUES];
    number_from(vr, first, n);
    fmi2Status status = FUNCTION(Reals, l, "fmi2GetReal")(l->unit, vr, n, value);
    judge(status, "fmi2GetReal");
    return status;
}

static void set(const Loaded *l, unsigned first, size_t n, double value[])
{
    fmi2ValueReference vr[MOST_VALUES];
    number_from(vr, first, n);
    judge(FUNCTION(Reals, l, "fmi2SetReal")(l->unit, vr, n, value), "fmi2SetReal");
}

static void set_whole(const Loaded *l, const char *function, unsigned reference, int value)
{
    judge(FUNCTION(Wholes, l, function)(l->unit, &reference, 1, &value), function);
}

static void print_string(const Loaded *l, unsigned reference)
{
    fmi2String text = NULL;
    fmi2Status status = FUNCTION(Strings, l, "fmi2GetString")(l->unit, &reference, 1, &text);
    judge(status, "fmi2GetString");
    if (status == fmi2OK)
        printf("%s\n", text);
}

static void save(Loaded *l)
{
    typedef fmi2Status (*GetState)(fmi2Component, fmi2FMUstate *);
    judge(FUNCTION(GetState, l, "fmi2GetFMUstate")(l->unit, &l->state), "fmi2GetFMUstate");
}

typedef fmi2Status (*SetState)(fmi2Component, fmi2FMUstate);
typedef fmi2Status (*FreeState)(fmi2Component, fmi2FMUstate *);

static void restore(const Loaded *l, fmi2FMUstate state)
{
    judge(FUNCTION(SetState, l, "fmi2SetFMUstate")(l->unit, state), "fmi2SetFMUstate");
}

static void pass(const Loaded *from, const Loaded *to)
{
    typedef fmi2Status (*Size)(fmi2Component, fmi2FMUstate, size_t *);
    typedef fmi2Status (*Write)(fmi2Component, fmi2FMUstate, fmi2Byte[], size_t);
    typedef fmi2Status (*Read)(fmi2Component, const fmi2Byte[], size_t, fmi2FMUstate *);
    size_t size = 0;
    judge(FUNCTION(Size, from, "fmi2SerializedFMUstateSize")(from->unit, from->state, &size), "size");
    char *bytes = malloc(size);
    fmi2FMUstate state = NULL;
    judge(FUNCTION(Write, from, "fmi2SerializeFMUstate")(from->unit, from->state, bytes, size), "serialise");
    judge(FUNCTION(Read, to, "fmi2DeSerializeFMUstate")(to->unit, bytes, size, &state), "deserialise");
    restore(to, state);
    FUNCTION(FreeState, to, "fmi2FreeFMUstate")(to->unit, &state);
    free(bytes);
}

static void close_unit(Loaded *l)
{
    typedef void (*Free)(fmi2Component);
    FUNCTION(FreeState, l, "fmi2FreeFMUstate")(l->unit, &l->state);
    FUNCTION(Free, l, "fmi2FreeInstance")(l->unit);
    dlclose(l->library);
    *l = (Loaded){.library = NULL};
}

static char *word(void) { return strtok(NULL, " \n"); }
static double number(void)
{
    const char *text = word();
    return text ? strtod(text, NULL) : 0.0;
}
static unsigned count(void) { return (unsigned)number(); }

static size_t numbers(double value[])
{
    size_t n = 0;
    for (char *text = word(); text && n < MOST_VALUES; text = word())
        value[n++] = strtod(text, NULL);
    return n;
}

static void do_with_numbers(const char *command, Loaded *l)
{
    double value[MOST_VALUES];
    unsigned first = count();
    if (strcmp(command, "set") == 0) {
        size_t n = numbers(value);
        set(l, first, n, value);
        return;
    }
    const Loaded *to = strcmp(command, "copy") == 0 ? find(word()) : NULL;
    unsigned target = to ? count() : 0;
    size_t n = count();
    if (n > MOST_VALUES)
        die("too many", command);
    if (get(l, first, n, value) != fmi2OK)
        return;
    if (to)
        set(to, target, n, value);
    else
        for (size_t i = 0; i < n; i++)
            printf("%a%c", value[i], i + 1 < n ? ' ' : '\n');
}

static void obey(const char *command)
{
    if (strcmp(command, "open") == 0) {
        const char *name = word(), *library = word(), *resources = word();
        open_unit(name, library, resources, word());
        return;
    }
    if (strcmp(command, "pause") == 0) {
        char line[8];
        printf("paused\n");
        fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
            exit(0);
        return;
    }
    Loaded *l = find(word());
    if (strcmp(command, "start") == 0) {
        start(l);
    } else if (strcmp(command, "step") == 0) {
        double time = number();
        step(l, time, number());
    } else if (strcmp(command, "text") == 0) {
        unsigned reference = count();
        fmi2String text = word();
        judge(FUNCTION(Strings, l, "fmi2SetString")(l->unit, &reference, 1, &text), "fmi2SetString");
    } else if (strcmp(command, "whole") == 0 || strcmp(command, "flag") == 0) {
        unsigned reference = count();
        set_whole(l, *command == 'w' ? "fmi2SetInteger" : "fmi2SetBoolean", reference, (int)number());
    } else if (strcmp(command, "string") == 0) {
        print_string(l, count());
    } else if (strcmp(command, "save") == 0) {
        save(l);
    } else if (strcmp(command, "restore") == 0) {
        restore(l, l->state);
    } else if (strcmp(command, "pass") == 0) {
        pass(l, find(word()));
    } else if (strcmp(command, "reset") == 0) {
        judge(FUNCTION(Plain, l, "fmi2Reset")(l->unit), "fmi2Reset");
    } else if (strcmp(command, "close") == 0) {
        close_unit(l);
    } else if (strcmp(command, "set") == 0 || strcmp(command, "get") == 0 || strcmp(command, "copy") == 0) {
        do_with_numbers(command, l);
    } else {
        die("no such command", command);
    }
}

int main(void)
{
    char line[MOST_LINE];
    while (fgets(line, sizeof line, stdin)) {
        char *command = strtok(line, " \n");
        if (command)
            obey(command);
        fflush(stdout);
    }
    return 0;
}
