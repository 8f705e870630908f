/* tensor.h - the parameters of a draw as tensors; see phl_tensor in phloem.h. */
#ifndef PHL_MODEL_TENSOR_H
#define PHL_MODEL_TENSOR_H

#include "model/params.h"

/* Tensor number i of parameters, false after the last one.  Its data may be written to where the
 * parameters may. */
bool phl_tensor_of(const phl_params *params, size_t i, phl_tensor *tensor);

#endif
