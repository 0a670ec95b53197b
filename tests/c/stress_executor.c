/* Random rings of small units under executor.c, with memory of exact size so that the sanitisers see every slip. Laws:
   a step that is undone was never made; many steps at once are as many single ones; a fault ends the loop at its call,
   keeps the rows before it and touches none after it, and the loop goes on from there as if nothing had been. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../cffi_build/executor.h"

enum { UNITS = 6, STEPS = 40, WIDTH = 1 + 2 * UNITS, CALLS = 16 * UNITS };

typedef struct {
    double u, y;
    int32_t on, steps, bad_step; /* the step that answers with an error, once */
} unit;

static const uint32_t REFERENCE[1] = {0};

static int step(void *c, double time, double h, int no_rollback)
{
    unit *self = c;
    (void)no_rollback;
    if (++self->steps == self->bad_step) return 3;
    self->y += h * (self->u - self->y + sin(time) + self->on);
    return self->steps % 3 == 0; /* a warning is no fault */
}
static int get_y(void *c, const uint32_t *references, size_t count, double *values)
{
    for (size_t i = 0; i < count; i++) values[i] = references[i] == 0 ? ((unit *)c)->y : NAN;
    return 0;
}
static int set_u(void *c, const uint32_t *references, size_t count, const double *values)
{
    for (size_t i = 0; i < count; i++)
        if (references[i] == 0) ((unit *)c)->u = values[i];
    return 0;
}
static int get_on(void *c, const uint32_t *references, size_t count, int32_t *values)
{
    for (size_t i = 0; i < count; i++) values[i] = references[i] == 0 ? ((unit *)c)->on : 0;
    return 0;
}
static int set_on(void *c, const uint32_t *references, size_t count, const int32_t *values)
{
    for (size_t i = 0; i < count; i++)
        if (references[i] == 0) ((unit *)c)->on = values[i];
    return 0;
}
/* Steps are counted on through a rollback, so that a fault comes once. */
static int save(void *c, void **state)
{
    if (*state == NULL) *state = malloc(sizeof(unit));
    if (*state == NULL) return 3;
    memcpy(*state, c, sizeof(unit));
    return 0;
}
static int restore(void *c, void *state)
{
    unit *self = c;
    const int32_t steps = self->steps;
    memcpy(self, state, sizeof *self);
    self->steps = steps;
    return 0;
}

typedef struct {
    unit units[UNITS];
    double clocks[UNITS], *values[UNITS], *row, *rows, *times;
    double factor, offset;
    int32_t whole[UNITS];
    void *states[UNITS];
    executor_slot slots[UNITS];
    executor_call *calls;
    executor loop;
} ring;

static void add(ring *r, int i, executor_kind kind, executor_function function, double *values)
{
    executor_call *call = &r->calls[r->loop.count++];
    *call = (executor_call){.kind = kind, .unit = &r->units[i], .function = function, .time = &r->clocks[i]};
    call->count = call->references_count = 1;
    call->references = REFERENCE;
    call->values = values;
    call->whole = &r->whole[i];
    call->low = 0, call->high = 1;
    call->factors = &r->factor, call->offsets = &r->offset;
    call->part = 0, call->parts = 1;
    call->slot = &r->slots[i];
}

static void add_steps(ring *r, int i, int parts)
{
    for (int part = 0; part < parts; part++) {
        add(r, i, EXECUTOR_STEP_2, (executor_function){.step_2 = step}, NULL);
        r->calls[r->loop.count - 1].part = part;
        r->calls[r->loop.count - 1].parts = parts;
    }
}

/* Gauss-Seidel steps, `parts` a macro step; with `vain` each unit makes a step first that is undone. */
static ring *make_ring(int parts, int vain)
{
    ring *r = calloc(1, sizeof *r);
    r->calls = malloc(CALLS * sizeof *r->calls);
    r->row = malloc(WIDTH * sizeof *r->row);
    r->rows = malloc(STEPS * WIDTH * sizeof *r->rows);
    r->times = malloc((STEPS + 1) * sizeof *r->times);
    r->factor = 0.75, r->offset = 0.125;
    for (int k = 0; k <= STEPS; k++) r->times[k] = k / 64.0;
    for (int k = 0; k < STEPS * WIDTH; k++) r->rows[k] = -1e300;
    for (int i = 0; i < UNITS; i++) {
        r->values[i] = malloc(sizeof(double));
        r->units[i].on = i % 2;
        r->slots[i].state = &r->states[i];
    }
    for (int i = 0; i < UNITS; i++) {
        const int from = (i + 1) % UNITS;
        add(r, from, EXECUTOR_GET_REAL_2, (executor_function){.get_real_2 = get_y}, r->values[i]);
        add(r, i, EXECUTOR_SCALE, (executor_function){.address = NULL}, r->values[i]);
        add(r, i, EXECUTOR_SET_REAL_2, (executor_function){.set_real_2 = set_u}, r->values[i]);
        if (vain) {
            add(r, i, EXECUTOR_SAVE, (executor_function){.save = save}, NULL);
            add_steps(r, i, 1);
            add(r, i, EXECUTOR_RESTORE, (executor_function){.restore = restore}, NULL);
        }
        add(r, from, EXECUTOR_GET_WHOLE_2, (executor_function){.get_whole_2 = get_on}, r->values[i]);
        add(r, i, EXECUTOR_SET_WHOLE_2, (executor_function){.set_whole_2 = set_on}, r->values[i]);
        add_steps(r, i, parts);
    }
    r->loop.schedule_count = r->loop.count;
    for (int i = 0; i < UNITS; i++) {
        add(r, i, EXECUTOR_GET_REAL_2, (executor_function){.get_real_2 = get_y}, &r->row[1 + 2 * i]);
        add(r, i, EXECUTOR_GET_WHOLE_2, (executor_function){.get_whole_2 = get_on}, &r->row[2 + 2 * i]);
    }
    r->loop.calls = r->calls, r->loop.times = r->times, r->loop.row = r->row, r->loop.rows = r->rows;
    r->loop.h = 1 / 64.0, r->loop.row_length = WIDTH;
    return r;
}

static void free_ring(ring *r)
{
    for (int i = 0; i < UNITS; i++) free(r->values[i]), free(r->states[i]);
    free(r->calls), free(r->row), free(r->rows), free(r->times), free(r);
}

static void demand(int holds, const char *law)
{
    if (holds) return;
    fprintf(stderr, "not so: %s\n", law);
    exit(1);
}

static int same_rows(const ring *a, const ring *b)
{
    return memcmp(a->rows, b->rows, STEPS * WIDTH * sizeof(double)) == 0;
}

int main(int argc, char **argv)
{
    const int rounds = argc > 1 ? atoi(argv[1]) : 1000;
    srand(7);
    for (int round = 0; round < rounds; round++) {
        const int parts = 1 + rand() % 3, struck = rand() % UNITS;
        ring *plain = make_ring(parts, 0), *vain = make_ring(parts, 1), *faulty = make_ring(parts, 0);
        demand(executor_run(&plain->loop, STEPS) == EXECUTOR_DONE, "a ring without faults goes to its end");
        for (size_t k = 1; k <= STEPS; k++)
            demand(executor_run(&vain->loop, k) == EXECUTOR_DONE && vain->loop.done == k, "one step is one step");
        demand(same_rows(plain, vain), "a step that is undone was never made, and many are as many single ones");

        unit *bad = &faulty->units[struck];
        bad->bad_step = 1 + rand() % (STEPS * parts);
        demand(executor_run(&faulty->loop, STEPS) == EXECUTOR_BAD_STATUS, "a fault ends the loop");
        const size_t done = faulty->loop.done;
        demand(done == (size_t)(bad->bad_step - 1) / parts, "it ends in the step of the fault");
        demand(faulty->loop.unit_status == 3 && faulty->calls[faulty->loop.next].unit == bad, "at the call of the fault");
        demand(memcmp(plain->rows, faulty->rows, done * WIDTH * sizeof(double)) == 0, "the rows before are kept");
        for (size_t k = done * WIDTH; k < STEPS * WIDTH; k++)
            demand(faulty->rows[k] == -1e300, "the rows after are not touched");
        bad->bad_step = 0, bad->steps--;
        demand(executor_run(&faulty->loop, STEPS) == EXECUTOR_DONE, "it goes on");
        demand(same_rows(plain, faulty), "a call that is made again leaves no trace of its fault");

        faulty->loop.done = faulty->loop.next = 0;
        bad->y = rand() % 2 ? INFINITY : NAN;
        demand(executor_run(&faulty->loop, STEPS) == EXECUTOR_NOT_FINITE, "a value that is not finite ends the loop");
        bad->y = 0.0, faulty->loop.done = faulty->loop.next = 0;
        for (int i = 0; i < UNITS; i++) faulty->units[i].on = 2;
        demand(executor_run(&faulty->loop, STEPS) == EXECUTOR_NOT_TAKEN, "a truth value of 2 ends the loop");
        free_ring(plain), free_ring(vain), free_ring(faulty);
    }
    printf("%d rings of %d units: every law holds\n", rounds, UNITS);
    return 0;
}
