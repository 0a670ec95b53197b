#include "executor.h"

#include <math.h>
#include <string.h>

/* In FMI, 0 is ok and 1 a warning. */
static bool is_bad(int status) { return status < 0 || status > 1; }

static executor_status take_whole(const executor_call *call)
{
    for (size_t i = 0; i < call->count; i++) {
        const double value = call->values[i];
        /* NaN fails the comparisons. */
        if (!(value >= call->low && value <= call->high) || value != floor(value)) return EXECUTOR_NOT_TAKEN;
        call->whole[i] = (int32_t)value;
    }
    return EXECUTOR_DONE;
}

static executor_status check_finite(const executor_call *call)
{
    for (size_t i = 0; i < call->count; i++)
        if (!isfinite(call->values[i])) return EXECUTOR_NOT_FINITE;
    return EXECUTOR_DONE;
}

static int make_step(const executor_call *call, double time, double h)
{
    if (call->parts > 1) {
        h = h / call->parts;
        time = time + call->part * h;
    }
    *call->time = time;
    if (call->kind == EXECUTOR_STEP_2) {
        const int status = call->function.step_2(call->unit, time, h, 0);
        if (!is_bad(status)) *call->time = time + h;
        return status;
    }
    const executor_answer *answer = &call->answer;
    *answer->event = *answer->end = *answer->early = false;
    *answer->until = time;
    const int status =
        call->function.step_3(call->unit, time, h, false, answer->event, answer->end, answer->early, answer->until);
    if (!is_bad(status) && !*answer->end && !*answer->early) *call->time = time + h;
    return status;
}

static executor_status make(executor *self, const executor_call *call, double time)
{
    const uint32_t *references = call->references;
    const size_t count = call->count, named = call->references_count;
    int status = 0;
    switch (call->kind) {
    case EXECUTOR_SCALE:
        for (size_t i = 0; i < count; i++) {
            /* Two statements, two roundings: the build must not fuse them. */
            const double scaled = call->values[i] * call->factors[i];
            call->values[i] = scaled + call->offsets[i];
        }
        return EXECUTOR_DONE;
    case EXECUTOR_SAVE:
        status = call->function.save(call->unit, call->slot->state);
        call->slot->time = *call->time;
        break;
    case EXECUTOR_RESTORE:
        status = call->function.restore(call->unit, *call->slot->state);
        if (!is_bad(status)) *call->time = call->slot->time;
        break;
    case EXECUTOR_STEP_2:
    case EXECUTOR_STEP_3:
        status = make_step(call, time, self->h);
        break;
    case EXECUTOR_GET_REAL_2:
        status = call->function.get_real_2(call->unit, references, named, call->values);
        break;
    case EXECUTOR_SET_REAL_2:
        status = call->function.set_real_2(call->unit, references, named, call->values);
        break;
    case EXECUTOR_GET_WHOLE_2:
        status = call->function.get_whole_2(call->unit, references, named, call->whole);
        for (size_t i = 0; i < count && !is_bad(status); i++) call->values[i] = call->whole[i];
        break;
    case EXECUTOR_SET_WHOLE_2:
        if (take_whole(call) != EXECUTOR_DONE) return EXECUTOR_NOT_TAKEN;
        status = call->function.set_whole_2(call->unit, references, named, call->whole);
        break;
    case EXECUTOR_GET_REAL_3:
        status = call->function.get_real_3(call->unit, references, named, call->values, count);
        break;
    case EXECUTOR_SET_REAL_3:
        status = call->function.set_real_3(call->unit, references, named, call->values, count);
        break;
    }
    self->unit_status = status;
    if (is_bad(status)) return EXECUTOR_BAD_STATUS;
    if (call->kind == EXECUTOR_STEP_3 && (*call->answer.end || *call->answer.early)) return EXECUTOR_SHORT_STEP;
    if (call->kind == EXECUTOR_GET_REAL_2 || call->kind == EXECUTOR_GET_REAL_3) return check_finite(call);
    return EXECUTOR_DONE;
}

executor_status executor_run(executor *self, size_t steps)
{
    for (; self->done < steps; self->done++) {
        const double time = self->times[self->done];
        for (; self->next < self->count; self->next++) {
            const executor_status status = make(self, &self->calls[self->next], time);
            if (status != EXECUTOR_DONE) return status;
        }
        self->next = 0;
        if (self->row_length > 0) {
            self->row[0] = self->times[self->done + 1];
            memcpy(self->rows + self->done * self->row_length, self->row, self->row_length * sizeof(double));
        }
    }
    return EXECUTOR_DONE;
}
