/* The functions for the state of a unit whose state is one struct with no pointers in it: to save it, or to write it
   down, is one copy. Name the struct State, and include FMI's header, before this. */
#include <stdlib.h>
#include <string.h>

#ifdef fmi3Functions_h
#define FMI(name) fmi3##name
#define STATE(before, after) fmi3##before##FMUState##after
#define DESERIALIZE fmi3DeserializeFMUState
#else
#define FMI(name) fmi2##name
#define STATE(before, after) fmi2##before##FMUstate##after
#define DESERIALIZE fmi2DeSerializeFMUstate
#endif

FMI(Status) STATE(Get, )(void *unit, void **state) {
    if (!*state) *state = malloc(sizeof(State));
    memcpy(*state, unit, sizeof(State));
    return FMI(OK);
}
FMI(Status) STATE(Set, )(void *unit, void *state) { return memcpy(unit, state, sizeof(State)), FMI(OK); }
FMI(Status) STATE(Free, )(void *unit, void **state) {
    (void)unit;
    free(*state);
    *state = NULL;
    return FMI(OK);
}
FMI(Status) STATE(Serialized, Size)(void *unit, void *state, size_t *size) {
    (void)unit, (void)state;
    *size = sizeof(State);
    return FMI(OK);
}
FMI(Status) STATE(Serialize, )(void *unit, void *state, FMI(Byte) data[], size_t size) {
    (void)unit;
    memcpy(data, state, size);
    return FMI(OK);
}
FMI(Status) DESERIALIZE(void *unit, const FMI(Byte) data[], size_t size, void **state) {
    (void)unit;
    if (size != sizeof(State)) return FMI(Error);
    *state = malloc(size);
    memcpy(*state, data, size);
    return FMI(OK);
}
