/* diagnoses.h - a diagnosis in words (diagnose_report.c) and as JSON (diagnose_json.c). */
#ifndef PHLOEM_CLI_DIAGNOSES_H
#define PHLOEM_CLI_DIAGNOSES_H

#include "print/terminal.h"

/* On standard output: figures of one class in full or of several in a table, then what they mean.
 */
void diagnose_report(const phl_diagnosis *diagnosis, const phl_run *run, size_t first_class);
void diagnose_json(const phl_diagnosis *diagnosis, const phl_run *run);
/* The same as a value of something larger. */
void diagnose_json_write(json_writer *json, const phl_diagnosis *diagnosis, const phl_run *run);

#endif
