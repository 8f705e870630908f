/* validations.h - what came out of a cross-validation, for people or as JSON. */
#ifndef PHLOEM_CLI_VALIDATIONS_H
#define PHLOEM_CLI_VALIDATIONS_H

#include "phloem.h"

void validation_print(const phl_cross_validation *result);
void validation_json(const phl_cross_validation *result);
/* A choice in words: "model tf, 10 states, linear head"; what all choices have in common is left
 * out unless `whole`. */
void validation_describe(const phl_cross_validation *result, size_t choice, bool whole, char *text,
                         size_t size);
const char *validation_prior_name(phl_class_prior prior);

#endif
