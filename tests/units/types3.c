/* Every type of FMI 3.0: each output is its input, as it was when the last step was made. Inputs have even value
   references, the output of an input the next one. `texts` and `blobs` are arrays of two. */
#include <stdlib.h>
#include <string.h>
#include "fmi3Functions.h"

enum { FLOAT32 = 10, FLOAT64 = 12, INT8 = 14, UINT8 = 16, INT16 = 18, UINT16 = 20, INT32 = 22, UINT32 = 24, INT64 = 26,
       UINT64 = 28, BOOLEAN = 30, CHOICE = 32, TEXT = 34, BLOB = 36, TEXTS = 38, COUNT = 40 };

typedef struct {
    union { fmi3Float32 f32; fmi3Float64 f64; fmi3Int8 i8; fmi3UInt8 u8; fmi3Int16 i16; fmi3UInt16 u16; fmi3Int32 i32;
            fmi3UInt32 u32; fmi3Int64 i64; fmi3UInt64 u64; fmi3Boolean b; } number[COUNT];
    char text[COUNT][2][64];
    size_t size[COUNT];
} Types;

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean events, fmi3Boolean early,
                                         const fmi3ValueReference needed[], size_t n, fmi3InstanceEnvironment host,
                                         fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)events, (void)early, (void)needed;
    (void)n, (void)host, (void)log, (void)update;
    return calloc(1, sizeof(Types));
}
void fmi3FreeInstance(fmi3Instance c) { free(c); }
fmi3Status fmi3DoStep(fmi3Instance c, fmi3Float64 time, fmi3Float64 h, fmi3Boolean no_going_back, fmi3Boolean *event,
                      fmi3Boolean *end, fmi3Boolean *early, fmi3Float64 *reached) {
    (void)no_going_back;
    Types *t = c;
    for (int i = FLOAT32; i < COUNT; i += 2) {
        t->number[i + 1] = t->number[i];
        memcpy(t->text[i + 1], t->text[i], sizeof t->text[i]);
        t->size[i + 1] = t->size[i];
    }
    *event = *end = *early = fmi3False;
    *reached = time + h;
    return fmi3OK;
}

#define ACCESS(Name, Type, member)                                                                                    \
    fmi3Status fmi3Get##Name(fmi3Instance c, const fmi3ValueReference vr[], size_t n, Type value[], size_t count) {   \
        (void)count;                                                                                                  \
        for (size_t i = 0; i < n; i++) value[i] = ((Types *)c)->number[vr[i]].member;                                 \
        return fmi3OK;                                                                                                \
    }                                                                                                                 \
    fmi3Status fmi3Set##Name(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const Type value[],             \
                             size_t count) {                                                                          \
        (void)count;                                                                                                  \
        for (size_t i = 0; i < n; i++) ((Types *)c)->number[vr[i]].member = value[i];                                 \
        return fmi3OK;                                                                                                \
    }
ACCESS(Float32, fmi3Float32, f32)
ACCESS(Float64, fmi3Float64, f64)
ACCESS(Int8, fmi3Int8, i8)
ACCESS(UInt8, fmi3UInt8, u8)
ACCESS(Int16, fmi3Int16, i16)
ACCESS(UInt16, fmi3UInt16, u16)
ACCESS(Int32, fmi3Int32, i32)
ACCESS(UInt32, fmi3UInt32, u32)
ACCESS(Int64, fmi3Int64, i64)
ACCESS(UInt64, fmi3UInt64, u64)
ACCESS(Boolean, fmi3Boolean, b)

static size_t length(fmi3ValueReference vr) { return vr >= TEXTS ? 2 : 1; }

fmi3Status fmi3GetString(fmi3Instance c, const fmi3ValueReference vr[], size_t n, fmi3String value[], size_t count) {
    for (size_t i = 0, k = 0; i < n; i++)
        for (size_t j = 0; j < length(vr[i]) && k < count; j++) value[k++] = ((Types *)c)->text[vr[i]][j];
    return fmi3OK;
}
fmi3Status fmi3SetString(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const fmi3String value[],
                         size_t count) {
    for (size_t i = 0, k = 0; i < n; i++)
        for (size_t j = 0; j < length(vr[i]) && k < count; j++) strncpy(((Types *)c)->text[vr[i]][j], value[k++], 63);
    return fmi3OK;
}
fmi3Status fmi3GetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, size_t size[], fmi3Binary value[],
                         size_t count) {
    (void)count;
    for (size_t i = 0; i < n; i++) {
        size[i] = ((Types *)c)->size[vr[i]];
        value[i] = (const fmi3Byte *)((Types *)c)->text[vr[i]];
    }
    return fmi3OK;
}
fmi3Status fmi3SetBinary(fmi3Instance c, const fmi3ValueReference vr[], size_t n, const size_t size[],
                         const fmi3Binary value[], size_t count) {
    (void)count;
    for (size_t i = 0; i < n; i++) {
        if (size[i] > 64) return fmi3Error;
        ((Types *)c)->size[vr[i]] = size[i];
        memcpy(((Types *)c)->text[vr[i]], value[i], size[i]);
    }
    return fmi3OK;
}
