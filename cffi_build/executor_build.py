"""Builds simloop.master._executor from executor.c (cffi, API mode); paths are from the repository's root."""

import sys

from cffi import FFI

# Fused multiplications would round once where the interpreted loop rounds twice.
flags = [] if sys.platform == "win32" else ["-std=c11", "-O3", "-Wall", "-Wextra", "-ffp-contract=off"]

ffibuilder = FFI()

ffibuilder.cdef(
    """
    typedef enum executor_status {
        EXECUTOR_DONE, EXECUTOR_BAD_STATUS, EXECUTOR_SHORT_STEP, EXECUTOR_NOT_FINITE, EXECUTOR_NOT_TAKEN, ...
    } executor_status;
    typedef enum executor_kind {
        EXECUTOR_SCALE, EXECUTOR_SAVE, EXECUTOR_RESTORE, EXECUTOR_STEP_2, EXECUTOR_STEP_3, EXECUTOR_GET_REAL_2,
        EXECUTOR_SET_REAL_2, EXECUTOR_GET_WHOLE_2, EXECUTOR_SET_WHOLE_2, EXECUTOR_GET_REAL_3, EXECUTOR_SET_REAL_3, ...
    } executor_kind;
    typedef union executor_function { void *address; ...; } executor_function;
    typedef struct executor_answer { bool *event, *end, *early; double *until; ...; } executor_answer;
    typedef struct executor_slot { void **state; double time; ...; } executor_slot;
    typedef struct executor_call {
        executor_kind kind;
        void *unit;
        executor_function function;
        double *time;
        size_t count;
        const uint32_t *references;
        size_t references_count;
        double *values;
        int32_t *whole;
        int32_t low, high;
        const double *factors, *offsets;
        int32_t part, parts;
        executor_slot *slot;
        executor_answer answer;
        ...;
    } executor_call;
    typedef struct executor {
        const executor_call *calls;
        size_t schedule_count, count;
        double h;
        const double *times;
        double *row;
        size_t row_length;
        double *rows;
        size_t done, next;
        int unit_status;
        ...;
    } executor;
    executor_status executor_run(executor *self, size_t steps);
    """
)

ffibuilder.set_source(
    "simloop.master._executor",
    '#include "executor.h"',
    sources=["cffi_build/executor.c"],
    depends=["cffi_build/executor.h"],
    include_dirs=["cffi_build"],
    extra_compile_args=flags,
    py_limited_api=True,
)
