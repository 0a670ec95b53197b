/* Every type of FMI 2.0: each output is its input, as it was when the last step was made. */
#include <stdlib.h>
#include <string.h>
#include "fmi2Functions.h"

typedef struct {
    fmi2Real real[2];
    fmi2Integer whole[2], choice[2];
    fmi2Boolean truth[2];
    char text[2][256];
} Types;

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging) {
    (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
    Types *t = calloc(1, sizeof *t);
    t->choice[0] = t->choice[1] = 1;
    return t;
}
void fmi2FreeInstance(fmi2Component c) { free(c); }

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real time, fmi2Real h, fmi2Boolean no_going_back) {
    (void)time, (void)h, (void)no_going_back;
    Types *t = c;
    t->real[1] = t->real[0];
    t->whole[1] = t->whole[0];
    t->choice[1] = t->choice[0];
    t->truth[1] = t->truth[0];
    strcpy(t->text[1], t->text[0]);
    return fmi2OK;
}

/* Each type counts its references from 0; whole numbers are 0 and 1, enumerations 2 and 3. */
fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) value[i] = ((Types *)c)->real[vr[i]];
    return fmi2OK;
}
fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Real value[]) {
    for (size_t i = 0; i < n; i++) ((Types *)c)->real[vr[i]] = value[i];
    return fmi2OK;
}
static fmi2Integer *integer(Types *t, fmi2ValueReference vr) { return vr < 2 ? &t->whole[vr] : &t->choice[vr - 2]; }
fmi2Status fmi2GetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Integer value[]) {
    for (size_t i = 0; i < n; i++) value[i] = *integer(c, vr[i]);
    return fmi2OK;
}
fmi2Status fmi2SetInteger(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Integer value[]) {
    for (size_t i = 0; i < n; i++) *integer(c, vr[i]) = value[i];
    return fmi2OK;
}
fmi2Status fmi2GetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2Boolean value[]) {
    for (size_t i = 0; i < n; i++) value[i] = ((Types *)c)->truth[vr[i]];
    return fmi2OK;
}
fmi2Status fmi2SetBoolean(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2Boolean value[]) {
    for (size_t i = 0; i < n; i++) ((Types *)c)->truth[vr[i]] = value[i];
    return fmi2OK;
}
fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, fmi2String value[]) {
    for (size_t i = 0; i < n; i++) value[i] = ((Types *)c)->text[vr[i]];
    return fmi2OK;
}
fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference vr[], size_t n, const fmi2String value[]) {
    for (size_t i = 0; i < n; i++) strncpy(((Types *)c)->text[vr[i]], value[i], 255);
    return fmi2OK;
}
