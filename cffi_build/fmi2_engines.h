/* The two engines that run a Python slave (simloop.fmus.slave.Slave), and how they are tried. */
#ifndef FMI2_ENGINES_H
#define FMI2_ENGINES_H

#include "fmi2_unit.h"

/* OPEN_ELSEWHERE: this interpreter cannot run the unit, `reason` says why; another one may. */
typedef enum { OPEN_OK, OPEN_FAILED, OPEN_ELSEWHERE } OpenResult;

/* Whether this process is a Python one. */
int python_is_running(void);

/* The slave in this process; OPEN_ELSEWHERE where simloop, or the version of it that the unit needs, is missing. */
OpenResult python_open(Unit *u, const char *guid, const char *resources, char *reason, size_t size);

/* Writes the path of the interpreter that this process is; -1 when it is not one to start again. */
int python_executable(char *out, size_t size);

/* The slave in a process of its own, run by `interpreter`, a path or a name to look up in PATH. */
OpenResult process_open(Unit *u, const char *interpreter, const char *guid, const char *resources, char *reason,
                        size_t size);

#endif
